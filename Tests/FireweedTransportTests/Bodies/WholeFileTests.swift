import FireweedTransport
import FixtureServer
import Foundation
import Glibc
import Testing

@Suite("Files that are read whole", .timeLimit(.minutes(TestTimeouts.minutes)))
struct WholeFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("a file of any length is read", arguments: [0, 1, 4095, 4096, 4097, (1 << 20) - 1, 1 << 20, (5 << 20) + 3])
    func lengths(count: Int) throws {
        let line = Data((0..<251).map { UInt8($0) })
        var content = Data()
        while content.count < count { content.append(line) }
        content = content.prefix(count)
        try content.write(to: folder.file("file"))
        #expect(try FileContent.read(folder.file("file")) == content)
    }

    @Test("a file of the kernel, whose length is unknown, is read")
    func unknownLength() throws {
        #expect(try !FileContent.read(URL(filePath: "/proc/self/status")).isEmpty)
    }

    @Test("a pipe, a device, a socket or a folder is an error, which does not wait")
    func noFile() throws {
        #expect(mkfifo(folder.file("pipe").path, 0o600) == 0)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link").path, withDestinationPath: folder.file("pipe").path)
        let urls = [
            folder.file("pipe"), folder.file("link"), folder.url, URL(filePath: "/dev/zero"), URL(filePath: "/dev/tty"),
        ]
        for url in urls {
            let error = #expect(throws: CocoaError.self) { try FileContent.read(url) }
            #expect(error?.filePath == url.path)
        }
    }

    @Test("a file that is missing or may not be read is named as Foundation names it")
    func unreadable() throws {
        let error = #expect(throws: CocoaError.self) { try FileContent.read(folder.file("none")) }
        #expect(error?.code == .fileReadNoSuchFile && (error?.underlying as? POSIXError)?.code == .ENOENT)
    }
}
