import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Glibc
import Testing

/// What `/upload` answers.
private struct Uploaded: Decodable, Sendable {
    let byteCount: Int
}

/// A stream whose `open()` waits until the test lets it return.
private final class ClosedStream: InputStream {
    private let calls: EventLog<String>
    private let gate: DispatchSemaphore

    init(calls: EventLog<String>, gate: DispatchSemaphore) {
        self.calls = calls
        self.gate = gate
        super.init(data: Data())
    }

    override func open() {
        calls.note("open")
        gate.wait()
    }

    override func close() {}
    override var streamStatus: Stream.Status { .notOpen }
    override var streamError: (any Error)? { nil }
    override var hasBytesAvailable: Bool { false }
    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int { 0 }
    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool { false }
}

@Suite("Uploads of files that have to be waited for", .timeLimit(.minutes(TestTimeouts.minutes)))
struct UploadedFileTests {
    let server: FixtureServer
    let session = Session.isolated()
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func makePipe() -> URL {
        let pipe = folder.file("pipe")
        #expect(mkfifo(pipe.path, 0o600) == 0)
        return pipe
    }

    /// Waits for the reader of a pipe, and returns the end for writing.
    private func writingEnd(of pipe: URL) async throws -> FileHandle {
        while true {
            let descriptor = open(pipe.path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
            if descriptor >= 0 { return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true) }
            try #require(errno == ENXIO)
            try await Task.sleep(for: .milliseconds(1))
        }
    }

    private func isAlive() async -> Bool {
        // A session of its own, and one that has a request under way.
        for other in [session, Session.isolated()] {
            guard await other.request(server.url("/get")).serializingData().response.error == nil else { return false }
        }
        return true
    }

    @Test("a pipe without a writer stops no other request, and its content ends when its writers have gone")
    func pipe() async throws {
        let pipe = makePipe()
        let request = session.upload(pipe, to: server.url("/upload")).resume()
        let writer = try await writingEnd(of: pipe)
        #expect(await isAlive())
        try writer.write(contentsOf: Data(repeating: 7, count: 40_000))
        let second = try await writingEnd(of: pipe)
        try writer.close()
        #expect(await isAlive())
        try second.write(contentsOf: Data(repeating: 8, count: 20_000))
        try second.close()
        #expect(try await request.serializingDecodable(Uploaded.self).value.byteCount == 60_000)
        #expect(server.requests.last { $0.path == "/upload" }?.field("Transfer-Encoding") == "chunked")
    }

    @Test("cancel() and the idle time-out end the upload of a pipe that nobody writes to", arguments: [true, false])
    func endsWithoutWriter(isCancelled: Bool) async throws {
        let session = Session.isolated { if !isCancelled { $0.timeoutIntervalForRequest = 0.2 } }
        let pipe = makePipe()
        let request = session.upload(pipe, to: server.url("/upload"))
        async let response = request.serializingData().response
        // The upload reads the pipe. The idle time-out may be over before a writer has come.
        let writer = isCancelled ? try await writingEnd(of: pipe) : nil
        if isCancelled { request.cancel() }
        let error = await response.error
        #expect(isCancelled ? error?.isExplicitlyCancelledError == true : error?.urlErrorCode == .timedOut)
        try writer?.close()
    }

    @Test("a stream whose open() does not return stops no other request, and cancel() ends its upload")
    func closedStream() async throws {
        let calls = EventLog<String>()
        let gate = DispatchSemaphore(value: 0)
        let request = session.upload(ClosedStream(calls: calls, gate: gate), to: server.url("/upload"))
        async let response = request.serializingData().response
        try await calls.next("open")
        #expect(await isAlive())
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        #expect(await isAlive())
        gate.signal()
    }

    @Test("a file whose size is 0 and whose content is not arrives whole")
    func kernelFile() async throws {
        let file = URL(fileURLWithPath: "/proc/version")
        let count = try FileHandle(forReadingFrom: file).contentToEnd().count
        let request = session.upload(file, to: server.url("/upload"))
        #expect(try await request.serializingDecodable(Uploaded.self).value.byteCount == count)
    }

    @Test("a transport of others, which knows no files, reads an uploaded file by a reader")
    func foreignTransport() async throws {
        let file = folder.file("content")
        try Data("from a file".utf8).write(to: file)
        let transport = ScriptedTransport { message in
            // A further case of `BodySource` would break transports that are written so.
            let content: Data? =
                switch message.body {
                case .none: nil
                case .data(let data): data
                case .reader(let make): (try? make()).map(Self.content)
                }
            return [.head(ResponseHead(status: 200, fields: [])), .content(content ?? Data())]
        }
        let session = Session(transport: transport)
        let text = try await session.upload(file, to: server.url("/upload")).serializingString().value
        #expect(text == "from a file")
    }

    private static func content(of reader: any BodyReader) -> Data {
        var space = [UInt8](repeating: 0, count: 64)
        let count = space.withUnsafeMutableBytes { try? reader.read(into: $0) }
        return Data(space.prefix(count ?? 0))
    }

    @Test("a file of the kernel whose size is more than its content arrives whole")
    func shortFile() async throws {
        let file = URL(fileURLWithPath: "/sys/kernel/uevent_seqnum")
        let count = try FileHandle(forReadingFrom: file).contentToEnd().count
        try #require(count < 4096)
        let request = session.upload(file, to: server.url("/upload"))
        #expect(try await request.serializingDecodable(Uploaded.self).value.byteCount == count)
    }

    @Test("a file whose size is 0 and that cannot be read is an error, not empty content")
    func unreadableFile() async throws {
        // Address 0 of a process is not mapped.
        let file = URL(fileURLWithPath: "/proc/self/mem")
        #expect(await error(of: file)?.urlErrorCode == .cannotOpenFile)
        let form = session.upload(
            multipartFormData: { $0.append(file, withName: "f", fileName: "f", mimeType: "text/plain") },
            to: server.url("/parts"))
        #expect(await form.serializingData().response.error?.isMultipartEncodingError == true)
        #expect(server.requests.isEmpty)
    }

    @Test("sparse and empty files keep their length", arguments: [0, 1, 4096, 65_536, 65_537, 1 << 20])
    func sparseFile(byteCount: Int) async throws {
        let file = folder.file("sparse")
        try Data().write(to: file)
        #expect(truncate(file.path, byteCount) == 0)
        let request = session.upload(file, to: server.url("/upload"))
        #expect(try await request.serializingDecodable(Uploaded.self).value.byteCount == byteCount)
        #expect(server.requests.last?.field("Content-Length") == "\(byteCount)")
        let form = session.upload(
            multipartFormData: { $0.append(file, withName: "f", fileName: "f", mimeType: "text/plain") },
            to: server.url("/upload"))
        #expect(try await form.serializingDecodable(Uploaded.self).value.byteCount > byteCount)
    }

    @Test("a file is sent again after a redirect and after a challenge, with its length")
    func again() async throws {
        let file = folder.file("content")
        try Data(count: 300_000).write(to: file)
        let target = server.url("/upload").absoluteString
        let redirect = server.url("/redirect-to?url=\(target)&status_code=307")
        let uploaded = try await session.upload(file, to: redirect).serializingDecodable(Uploaded.self).value
        #expect(uploaded.byteCount == 300_000)
        let challenge = server.url("/digest-auth/auth/ada/secret")
        let response = await session.upload(file, to: challenge, method: .put)
            .authenticate(username: "ada", password: "secret").serializingData().response
        #expect(response.response?.statusCode != 401 && response.error == nil)
        #expect(server.requests.suffix(2).allSatisfy { $0.field("Content-Length") == "300000" })
    }

    private func error(of file: URL) async -> AFError? {
        await session.upload(file, to: server.url("/upload")).serializingData().response.error
    }

    @Test("what cannot be sent fails with the code of Apple's platforms, and a sentence")
    func unreadable() async throws {
        let missing = await error(of: folder.file("none"))
        #expect(missing?.urlErrorCode == .fileDoesNotExist)
        #expect(missing?.errorDescription?.hasSuffix("/none could not be read: it does not exist") == true)
        let isFolder = await error(of: folder.url)
        #expect(isFolder?.urlErrorCode == .fileIsDirectory)
        #expect(isFolder?.errorDescription?.hasSuffix("could not be read: it is a folder") == true)
        let device = await error(of: URL(fileURLWithPath: "/dev/null"))
        #expect(device?.urlErrorCode == .cannotOpenFile)
        // The path of such a URL may name a file of this machine.
        let remote = await error(of: try #require(URL(string: "https://h.example\(#filePath)")))
        #expect(remote?.isCreateUploadableError == true)
        #expect(remote?.errorDescription?.contains("a URL of the scheme https is given for a file") == true)
        #expect(server.requests.isEmpty)
    }

    @Test("a file without permission fails with the code of Apple's platforms", .enabled(if: geteuid() != 0))
    func forbidden() async throws {
        let file = folder.file("private")
        try Data("a".utf8).write(to: file)
        #expect(chmod(file.path, 0) == 0)
        #expect(await error(of: file)?.urlErrorCode == .noPermissionsToReadFile)
    }
}
