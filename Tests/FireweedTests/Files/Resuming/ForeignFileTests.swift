import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Resume data and range answers from elsewhere", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ForeignFileTests {
    let session = Session.isolated()
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("resume data that names a file which no download has left changes nothing and fails")
    func foreignFile() async throws {
        let server = try FixtureServer.start()
        let target = folder.file("target")
        // An empty file, too, is somebody's.
        for content in ["somebody's file", ""] {
            let file = folder.file("private")
            try Data(content.utf8).write(to: file)
            let data = ResumeData(
                url: server.url("/range/100"), validator: .entityTag("\"range100\""), byteCount: 5, file: file)
            let request = session.download(resumingWith: data.data, to: { _, _ in (target, []) })
            let error = await request.serializingData().response.error
            guard case .notPartial(file)? = error?.underlyingError as? ResumeError else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try Data(contentsOf: file) == Data(content.utf8))
        }
        #expect(server.requests.isEmpty && !FileManager.default.fileExists(atPath: target.path))
    }

    @Test("resume data continues the file of a download that was staged beside its destination")
    func staged() async throws {
        let server = try ScriptedServer.start(Interrupted.firstHalf(), Interrupted.secondHalf)
        let target = folder.file("target")
        let destination: DownloadRequest.Destination = { [target] _, _ in (target, .removePreviousFile) }
        let failed = await session.download(server.url(), to: destination).staged(beside: target)
            .serializingDownloadedFileURL().response
        let data = try #require(failed.resumeData)
        let request = session.download(resumingWith: data, to: destination)
        #expect(try await request.serializingString().value == "0123456789")
        #expect(request.resumption == .continued(offset: 5))
        #expect(try Data(contentsOf: target) == Data("0123456789".utf8))
    }

    @Test("a part of the content where the whole was asked for is an error", arguments: [true, false])
    func unaskedPart(isResumed: Bool) async throws {
        let part = Interrupted.response("206 Partial Content\r\nETag: \"v1\"\r\nContent-Range: bytes 10-19/20", "x")
        let server = try ScriptedServer.start(isResumed ? Interrupted.firstHalf() : part, part, part)
        let place = folder.file("part")
        if isResumed { _ = await session.download(server.url()).resumable(at: place).serializingData().response }
        let request = session.download(server.url())
        if isResumed { request.resumable(at: place) }
        let response = await request.serializingData().response
        #expect(response.error?.urlErrorCode == .badServerResponse)
        #expect(response.error?.underlyingError?.localizedDescription.contains("the whole was asked for") == true)
        // A range that the program asked for itself is its own affair.
        let asked = session.download(server.url(), headers: ["Range": "bytes=10-19"])
        if !isResumed { #expect(await asked.serializingData().response.error == nil) }
    }

    @Test("a resumed download whose second answer is a part again fails, of any length", arguments: [10, 20])
    func partOfWhole(count: Int) async throws {
        let first: [ScriptedServer.Action] = [
            .receiveHead, .send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 20\r\n\r\n01234"), .close,
        ]
        let part = Interrupted.response(
            "206 Partial Content\r\nETag: \"v1\"\r\nContent-Range: bytes 10-\(9 + count)/\(10 + count)",
            String(repeating: "x", count: count))
        let server = try ScriptedServer.start(first, part, part)
        let failed = await session.download(server.url()).serializingData().response
        let data = try #require(failed.resumeData)
        let response = await session.download(resumingWith: data).serializingData().response
        #expect(server.heads.count == 3 && server.heads[1].contains("Range: ") && !server.heads[2].contains("Range: "))
        #expect(response.value == nil && response.error?.urlErrorCode == .badServerResponse)
        #expect(response.error?.underlyingError?.localizedDescription.contains("the whole was asked for") == true)
    }
}
