// The number of bytes that loopback buffers between a sender and a reader that does not read.

import Foundation

/// The capacity of the buffers of a connection on loopback.
public enum LoopbackSlack {
    /// Maximum bytes in the buffers of a connection on loopback, including 4 MiB for the library's own buffers.
    ///
    /// The kernel chooses the size of a receive buffer: usually a few MiB, sometimes the maximum.
    public static let byteCount = limit("tcp_rmem") + limit("tcp_wmem") + 4 << 20

    /// Returns the maximum of a kernel setting, which is the last of its three numbers.
    private static func limit(_ name: String) -> Int {
        let text = try? String(contentsOfFile: "/proc/sys/net/ipv4/\(name)", encoding: .utf8)
        guard let last = text?.split(whereSeparator: \.isWhitespace).last, let limit = Int(last) else {
            preconditionFailure("\(name) cannot be read")
        }
        return limit
    }
}
