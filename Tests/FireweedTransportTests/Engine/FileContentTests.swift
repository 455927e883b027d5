import CZlib
import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Content from a file", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FileContentTests {
    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("content")
    }

    /// Fills the file with bytes that do not repeat.
    private func write(_ byteCount: Int) throws -> Data {
        let content = Data((0..<(byteCount / 4 + 1)).flatMap { withUnsafeBytes(of: UInt32($0)) { Array($0) } })
        try content.prefix(byteCount).write(to: file)
        return content.prefix(byteCount)
    }

    private func put(_ message: inout RequestMessage) {
        message.method = "PUT"
        message.content = .file(file)
    }

    private struct Upload: Decodable {
        var byteCount: Int
        var crc32: UInt
    }

    @Test("arrives byte for byte", arguments: [0, 1, 65_536, 65_537, 3_000_001])
    func arrives(byteCount: Int) async throws {
        let content = try write(byteCount)
        let checksum = content.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: UInt8.self) { crc32(0, $0.baseAddress, UInt32($0.count)) }
        }
        let server = try FixtureServer.start()
        try await EngineStage.play { stage in
            for isReused in [false, true] {
                let transfer = try await stage.end(server.url("/upload"), put)
                let upload = try JSONDecoder().decode(Upload.self, from: transfer.record.content)
                #expect(upload.byteCount == byteCount && upload.crc32 == checksum)
                let end = try #require(transfer.record.end)
                #expect(end.failure == nil && end.report.requestBodyByteCount == Int64(byteCount))
                #expect(end.report.isReusedConnection == isReused)
            }
        }
    }

    /// Takes the file out of the kernel's memory, where the file system can; it is on the disk before.
    private func forget() throws {
        let handle = try FileHandle(forUpdating: file)
        fdatasync(handle.fileDescriptor)
        posix_fadvise(handle.fileDescriptor, 0, 0, POSIX_FADV_DONTNEED)
        try handle.close()
    }

    @Test("that the disk has alone arrives byte for byte", arguments: [1, 131_073, 1_048_576, 20_000_001])
    func forgotten(byteCount: Int) async throws {
        let content = try write(byteCount)
        try forget()
        let checksum = content.withUnsafeBytes { bytes in
            bytes.withMemoryRebound(to: UInt8.self) { crc32(0, $0.baseAddress, UInt32($0.count)) }
        }
        let server = try FixtureServer.start()
        try await EngineStage.play { stage in
            let transfer = try await stage.end(server.url("/upload"), put)
            let upload = try JSONDecoder().decode(Upload.self, from: transfer.record.content)
            #expect(upload.byteCount == byteCount && upload.crc32 == checksum)
        }
    }

    @Test("is read ahead from the disk to where it was asked for")
    func readAhead() throws {
        _ = try write(3_000_000)
        try forget()
        let reader = try FileBodyReader(opening: file)
        reader.readAhead(0..<1_000_000)
        #expect(reader.cachedByteCount(limit: .max) == 128 * 1024)
        reader.readAhead(2_900_000..<9_000_000)  // beyond the end there is nothing to wait for
    }

    @Test("is sent at the rate that the options allow")
    func rate() async throws {
        _ = try write(300_000)
        let server = try FixtureServer.start()
        try await EngineStage.play {
            $0.maximumSentBytesPerSecond = 1_000_000
        } _: { stage in
            let transfer = try await stage.end(server.url("/upload"), put)
            #expect(transfer.record.end?.requestContent == .whole)
            #expect(transfer.record.sent.allSatisfy { $0.byteCount < 300_000 })
        }
    }

    @Test("that became shorter while it was sent is an error, not a hang")
    func shrinks() async throws {
        _ = try write(20_000_000)
        let server = try ScriptedServer.start([
            .receiveHead, .perform { [file] in truncate(file.path, 1_000_000) }, .receiveContent, .hold,
        ])
        try await EngineStage.play { stage in
            let transfer = try await stage.end(server.url(), put)
            #expect(transfer.record.end?.failure != nil)
            #expect(transfer.failureText.contains("missing"))
        }
    }

    @Test("to a peer that closes is an error, and no signal ends the process", arguments: [true, false])
    func closed(resets: Bool) async throws {
        _ = try write(20_000_000)
        let server = try ScriptedServer.start([.receiveHead, resets ? .reset : .close])
        try await EngineStage.play { stage in
            let transfer = try await stage.end(server.url(), put)
            #expect(transfer.code == .networkConnectionLost)
        }
    }

    @Test("an early answer ends it, and is kept")
    func early() async throws {
        _ = try write(20_000_000)
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n"), .hold,
        ])
        try await EngineStage.play { stage in
            let transfer = try await stage.end(server.url(), put)
            #expect(transfer.code == nil && transfer.record.head?.status == 413)
        }
    }
}
