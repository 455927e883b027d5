import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Partial files of the caller's choice", .timeLimit(.minutes(TestTimeouts.minutes)))
struct PartialFileTests {
    let session = Session.isolated()
    let folder: TemporaryFolder
    let part: URL

    init() throws {
        folder = try TemporaryFolder()
        part = folder.file("file.part")
    }

    private var sidecar: URL { part.appendingPathExtension("resume") }
    private var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.url.path)) ?? []).sorted()
    }

    private func download(_ server: ScriptedServer, headers: HTTPHeaders = [:]) -> DownloadRequest {
        let target = folder.file("file")
        return session.download(server.url(), headers: headers, to: { _, _ in (target, []) }).resumable(at: part)
    }

    @Test("the next request continues, and the partial file and its sidecar are removed when it is complete")
    func goesOn() async throws {
        let server = try ScriptedServer.start(Interrupted.firstHalf(), Interrupted.secondHalf)
        let headers: HTTPHeaders = ["Authorization": "secret", "Cookie": "a=secret", "X-Own": "1"]
        let failed = await download(server, headers: headers).serializingData().response
        #expect(failed.error?.urlErrorCode == .networkConnectionLost && failed.resumeData != nil)
        #expect(try Data(contentsOf: part) == Data("01234".utf8))
        let text = try String(contentsOf: sidecar, encoding: .utf8)
        #expect(!text.contains("secret") && text.contains("X-Own"))
        #expect(try ResumeData(Data(text.utf8)).byteCount == nil)
        let request = download(server)
        #expect(try await request.serializingString().value == "0123456789")
        #expect(request.resumption == .continued(offset: 5) && names == ["file"])
    }

    @Test("the sidecar's bytes are resume data themselves")
    func sidecarIsResumeData() async throws {
        let server = try ScriptedServer.start(Interrupted.firstHalf(), Interrupted.secondHalf)
        _ = await download(server).serializingData().response
        let request = session.download(resumingWith: try Data(contentsOf: sidecar))
        #expect(try await request.serializingString().value == "0123456789")
        #expect(request.resumption == .continued(offset: 5))
    }

    @Test("a retry continues after the received bytes")
    func retry() async throws {
        let server = try ScriptedServer.start(Interrupted.firstHalf(), Interrupted.secondHalf)
        let request = session.download(
            server.url(),
            interceptor: RetryPolicy(exponentialBackoffScale: 0.001, retryableURLErrorCodes: [.networkConnectionLost])
        ).resumable(at: part)
        #expect(try await request.serializingString().value == "0123456789")
        #expect(request.retryCount == 1 && request.resumption == .continued(offset: 5))
        #expect(names == ["file.part"], "without a destination the file stays where it came")
    }

    @Test("a process that ended between the last byte and the move asks for one byte")
    func completePart() async throws {
        let server = try FixtureServer.start()
        let alphabet = Data((0..<100).map { UInt8(97 + $0 % 26) })
        try alphabet.write(to: part)
        let data = ResumeData(
            url: server.url("/range/100"), validator: .entityTag("\"range100\""), expectedByteCount: 100, file: part)
        try data.data.write(to: sidecar)
        let request = session.download(server.url("/range/100")).resumable(at: part)
        #expect(try await request.serializingData().value == alphabet)
        #expect(server.requests.map { $0.field("Range") } == ["bytes=99-"])
    }

    @Test("another version takes the place of the part whole, its sidecar too")
    func changed() async throws {
        let server = try ScriptedServer.start(
            Interrupted.firstHalf(),
            [.receiveHead, .send("HTTP/1.1 200 OK\r\nETag: \"v2\"\r\nContent-Length: 8\r\n\r\nabc"), .close],
            Interrupted.response("206 Partial Content\r\nETag: \"v2\"\r\nContent-Range: bytes 3-7/8", "defgh"))
        _ = await download(server).serializingData().response
        _ = await download(server).serializingData().response
        #expect(try Data(contentsOf: part) == Data("abc".utf8))
        #expect(try ResumeData(Data(contentsOf: sidecar)).validator == .entityTag("\"v2\""))
        #expect(try await download(server).serializingString().value == "abcdefgh")
        #expect(server.heads.last?.contains("If-Range: \"v2\"") == true)
    }

    @Test("what came without a validator is not gone on with, and starts again over it")
    func noValidator() async throws {
        let server = try ScriptedServer.start(Interrupted.firstHalf(""), Interrupted.otherVersion)
        let failed = await download(server).serializingData().response
        #expect(failed.resumeData == nil && names == ["file.part", "file.part.resume"])
        let request = download(server)
        #expect(try await request.serializingString().value == "abcdefgh")
        #expect(request.resumption == .startedAgain(.noValidator) && server.heads.last?.contains("Range") == false)
    }

    @Test("a part of another URL is not gone on with")
    func otherURL() async throws {
        let server = try ScriptedServer.start(Interrupted.firstHalf(), Interrupted.otherVersion)
        _ = await download(server).serializingData().response
        let request = session.download(server.url("/other")).resumable(at: part)
        #expect(try await request.serializingString().value == "abcdefgh")
        #expect(request.resumption == .startedAgain(.representationChanged))
    }

    @Test("an error page, a cancel and a missing server leave the part alone")
    func keepsPart() async throws {
        let server = try ScriptedServer.start(
            Interrupted.firstHalf(), Interrupted.response("404 Not Found", "gone"), [.receiveHead, .close],
            Interrupted.secondHalf)
        _ = await download(server).serializingData().response
        let refused = await session.download(server.url()).resumable(at: part).validate().serializingData().response
        #expect(refused.error?.responseCode == 404)
        let lost = await download(server).serializingData().response
        #expect(lost.error != nil && lost.resumeData.flatMap { try? ResumeData($0).byteCount } == 5)
        let cancelled = download(server).cancel()
        #expect(await cancelled.serializingData().response.error?.isExplicitlyCancelledError == true)
        #expect(try Data(contentsOf: part) == Data("01234".utf8))
        #expect(try await download(server).serializingString().value == "0123456789")
    }

    @Test("only one download at a time writes to a part")
    func inUse() async throws {
        let server = try ScriptedServer.start(
            [
                .receiveHead, .send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 10\r\n\r\n01234"),
                .wait(for: "go"), .send("56789"), .hold,
            ])
        let first = download(server)
        let task = first.serializingString()
        try await server.events.first { if case .head = $0 { true } else { false } }
        let second = await download(server).serializingData().response
        guard case .createURLRequestFailed(ResumeError.inUse(let url)) = second.error else {
            Issue.record("\(String(describing: second.error))")
            return
        }
        #expect(url == part)
        server.signal("go")
        #expect(try await task.value == "0123456789")
    }

    @Test("a file that no download has left is left alone")
    func foreignFile() async throws {
        try Data("mine".utf8).write(to: part)
        let server = try FixtureServer.start()
        let response = await session.download(server.url("/bytes/10")).resumable(at: part).serializingData().response
        guard case .createURLRequestFailed(ResumeError.notPartial) = response.error else {
            Issue.record("\(String(describing: response.error))")
            return
        }
        #expect(try Data(contentsOf: part) == Data("mine".utf8) && server.requests.isEmpty)
        #expect(response.error?.errorDescription?.contains("A file is in the way at \(part.path)") == true)
    }

    @Test("a symbolic link is not followed, a folder is none, and a missing folder says so")
    func unusablePlaces() async throws {
        try Data("mine".utf8).write(to: folder.file("target"))
        try FileManager.default.createSymbolicLink(at: part, withDestinationURL: folder.file("target"))
        for place in [part, folder.url, folder.file("none/file.part")] {
            let request = session.download("http://127.0.0.1:1/").resumable(at: place)
            let error = await request.serializingData().response.error
            guard case .createURLRequestFailed(let cause as ResumeError) = error, case .unusable = cause else {
                Issue.record("\(place.path): \(String(describing: error))")
                continue
            }
        }
        #expect(try Data(contentsOf: folder.file("target")) == Data("mine".utf8))
    }

    @Test("only GET can go on")
    func otherMethods() async throws {
        let request = session.download("http://127.0.0.1:1/", method: .post).resumable(at: part)
        let error = await request.serializingData().response.error
        guard case .createURLRequestFailed(ResumeError.unsupportedMethod("POST")) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }
}
