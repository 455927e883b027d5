// Content that costs much time to decode, and stands for nothing.

import Foundation
import Testing

/// Makes gzip inside gzip.
enum NestedGzip {
    /// A few kilobytes that expand a thousandfold in each layer but the innermost one, which is empty blocks.
    static func nothing(layers: Int) throws -> [UInt8] {
        let program = """
            import sys, zlib
            head, block = bytes([31, 139, 8, 0, 0, 0, 0, 0, 0, 3]), bytes([0, 0, 0, 255, 255])
            for _ in range(int(sys.argv[1]) - 1):
                packer = zlib.compressobj(9, zlib.DEFLATED, 31)
                content = block * ((1 << 20) // len(block))
                head = packer.compress(head + content) + packer.flush(zlib.Z_FULL_FLUSH)
                block = packer.compress(content) + packer.flush(zlib.Z_FULL_FLUSH)
            sys.stdout.buffer.write(head + block * 20)
            """
        let python = Process()
        python.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        python.arguments = ["python3", "-c", program, String(layers)]
        let output = Pipe()
        python.standardOutput = output
        try python.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        python.waitUntilExit()
        try #require(python.terminationStatus == 0 && bytes.count < 60_000)
        return Array(bytes)
    }
}
