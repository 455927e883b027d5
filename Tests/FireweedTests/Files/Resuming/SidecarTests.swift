import FixtureServer
import Foundation
import Glibc
import Testing

@testable import Fireweed

@Suite("What a resumable download leaves on disk", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SidecarTests {
    let folder: TemporaryFolder
    let part: URL

    init() throws {
        folder = try TemporaryFolder()
        part = folder.file("file.part")
    }

    private var sidecar: URL { part.appendingPathExtension("resume") }

    private func mode(_ file: URL) -> UInt32 {
        var status = stat()
        return stat(file.path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    /// The URL of a server with a user, a password and a key.
    private func secretURL(_ server: ScriptedServer, key: String = "secret-key") throws -> URL {
        var components = try #require(URLComponents(url: server.url(), resolvingAgainstBaseURL: false))
        components.user = "user"
        components.password = "secret-password"
        components.queryItems = [URLQueryItem(name: "page", value: "1"), URLQueryItem(name: "api_key", value: key)]
        return try #require(components.url)
    }

    @Test("neither file can be read by others, the sidecar has no secrets, and the complete file has the usual mode")
    func secrets() async throws {
        let server = try ScriptedServer.start(Interrupted.firstHalf(), Interrupted.secondHalf)
        var options = TransportOptions()
        options.credentialFieldNames = ["X-Company"]
        let session = Session.isolated(transportOptions: options)
        let headers: HTTPHeaders = [
            "Authorization": "secret", "Cookie": "a=secret", "X-Api-Key": "secret", "X-Company": "secret",
            "X-Session-Key": "secret", "Referer": "http://a.test/?token=secret", "X-Own": "1",
        ]
        let url = try secretURL(server)
        _ = await session.download(url, headers: headers).resumable(at: part).serializingData().response
        let text = try String(contentsOf: sidecar, encoding: .utf8)
        #expect(!text.contains("secret") && text.contains("X-Own") && text.contains("page=1"))
        #expect(mode(part) == 0o600 && mode(sidecar) == 0o600)
        let target = folder.file("file")
        let request = session.download(url, headers: headers, to: { _, _ in (target, []) }).resumable(at: part)
        #expect(try await request.serializingString().value == "0123456789")
        #expect(request.resumption == .continued(offset: 5))
        try Data().write(to: folder.file("other"))
        #expect(mode(target) == mode(folder.file("other")))
    }

    @Test(
        "another file at the sidecar's path is neither followed nor replaced", arguments: ["file", "link", "dangling"])
    func foreignSidecar(kind: String) async throws {
        let server = try ScriptedServer.start(Interrupted.otherVersion)
        let victim = folder.file("victim")
        switch kind {
        case "file": try Data("mine".utf8).write(to: sidecar)
        case "link":
            try Data("mine".utf8).write(to: victim)
            try FileManager.default.createSymbolicLink(at: sidecar, withDestinationURL: victim)
        default: try FileManager.default.createSymbolicLink(at: sidecar, withDestinationURL: victim)
        }
        let session = Session.isolated()
        let error = await session.download(server.url()).resumable(at: part).serializingData().response.error
        withExtendedLifetime(session) {}
        guard case .notPartial(let file)? = error?.underlyingError as? ResumeError else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(file == sidecar)
        #expect(!FileManager.default.fileExists(atPath: part.path))
        let kept = try? String(contentsOf: kind == "file" ? sidecar : victim, encoding: .utf8)
        #expect(kept == (kind == "dangling" ? nil : "mine"))
    }

    @Test("a complete file that stays has the usual mode")
    func modeAtPlace() async throws {
        let server = try ScriptedServer.start(Interrupted.otherVersion)
        let session = Session.isolated()
        _ = try await session.download(server.url()).resumable(at: part).serializingData().value
        withExtendedLifetime(session) {}
        try Data().write(to: folder.file("other"))
        #expect(mode(part) == mode(folder.file("other")))
    }

    @Test("a part of a URL with another secret is not continued, and a sidecar alone cannot ask for such a URL")
    func otherSecret() async throws {
        let server = try ScriptedServer.start(Interrupted.firstHalf(), Interrupted.otherVersion)
        let session = Session.isolated()
        _ = await session.download(try secretURL(server)).resumable(at: part).serializingData().response
        let alone = session.download(resumingWith: try Data(contentsOf: sidecar))
        guard case .unreadable? = await alone.serializingData().response.error?.underlyingError as? ResumeError else {
            Issue.record("\(String(describing: alone.error))")
            return
        }
        let request = session.download(try secretURL(server, key: "another")).resumable(at: part)
        #expect(try await request.serializingString().value == "abcdefgh")
        #expect(request.resumption == .startedAgain(.representationChanged))
    }

    // MARK: Ranges

    /// Five bytes of a representation whose length is unknown.
    private static let unmeasured: [ScriptedServer.Action] = [
        .receiveHead,
        .send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n"), .close,
    ]

    /// A range that ends where the connection ends.
    private static func range(_ range: String, _ content: String) -> [ScriptedServer.Action] {
        [
            .receiveHead,
            .send(
                "HTTP/1.1 206 Partial Content\r\nETag: \"v1\"\r\nContent-Range: bytes \(range)\r\n"
                    + "Connection: close\r\n\r\n\(content)"),
            .close,
        ]
    }

    @Test(
        "a range with fewer or more bytes than it says is an error, and the part is continued by the next download",
        arguments: [("4-9/*", "456"), ("4-9/10", "456"), ("4-9/*", "456789xyz"), ("4-9/10", "456789xyz")])
    func brokenRange(range: String, content: String) async throws {
        let server = try ScriptedServer.start(
            Self.unmeasured, Self.range(range, content), [.receiveHead, .close], [.receiveHead, .close])
        let session = Session.isolated()
        _ = await session.download(server.url()).resumable(at: part).serializingData().response
        let broken = await session.download(server.url()).resumable(at: part).serializingData().response
        #expect(broken.error?.urlErrorCode == (content.count < 6 ? .networkConnectionLost : .badServerResponse))
        let kept = try String(contentsOf: part, encoding: .utf8)
        #expect(kept == (content.count < 6 ? "0123456" : "0123") && broken.resumeData != nil)
        _ = await session.download(server.url()).resumable(at: part).serializingData().response
        #expect(server.heads.last?.contains("Range: bytes=\(kept.count - 1)-") == true)
    }

    @Test("a range as it says it is completes a download of unknown length")
    func wholeRange() async throws {
        let server = try ScriptedServer.start(Self.unmeasured, Self.range("4-9/*", "456789"))
        let session = Session.isolated()
        _ = await session.download(server.url()).resumable(at: part).serializingData().response
        let request = session.download(server.url()).resumable(at: part)
        #expect(try await request.serializingString().value == "0123456789")
    }

    // MARK: Other answers

    @Test(
        "an answer that is not the representation replaces no part",
        arguments: ["202 Accepted", "204 No Content", "205 Reset Content", "207 Multi-Status"],
        ["ETag: \"v1\"\r\n", ""])
    func otherStatus(status: String, validator: String) async throws {
        let answer: [ScriptedServer.Action] = [
            .receiveHead,
            .send("HTTP/1.1 \(status)\r\n\(status.hasPrefix("204") ? "" : "Content-Length: 0\r\n")\r\n"), .close,
        ]
        let server = try ScriptedServer.start(Interrupted.firstHalf(validator), answer)
        let session = Session.isolated()
        for _ in 0..<2 { _ = await session.download(server.url()).resumable(at: part).serializingData().response }
        #expect(try String(contentsOf: part, encoding: .utf8) == "01234")
    }

    // MARK: Locks

    @Test("a locked part is the file at its path, however many downloads open and remove parts there")
    func sameFile() {
        let wrongCount = ProtectedList<Bool>()
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<2000 {
                guard let partial = try? PartialFile(at: part, makingFolders: false) else { continue }
                var (opened, named) = (stat(), stat())
                let isSame =
                    fstat(partial.descriptor, &opened) == 0 && lstat(part.path, &named) == 0
                    && opened.st_ino == named.st_ino
                if !isSame { wrongCount.append(true) }
                partial.release()  // removes the empty file
            }
        }
        #expect(wrongCount.all.isEmpty)
    }
}
