import FixtureServer
import Foundation
import Testing

@testable import Fireweed

@Suite("Resumed downloads", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ResumingTests {
    let session = Session.isolated()
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Fails in the middle, and gives the resume data.
    private func interrupted(_ server: ScriptedServer) async throws -> Data {
        let response = await session.download(server.url()).serializingDownloadedFileURL().response
        #expect(response.error?.urlErrorCode == .networkConnectionLost)
        return try #require(response.resumeData)
    }

    private func field(_ name: String, in head: String) -> String? {
        head.split(separator: "\r\n").first { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
    }

    @Test("cancelled while it is being made, a download lets go of the partial file")
    func cancelledInTheMaking() async throws {
        let place = folder.file("part")
        let server = try FixtureServer.start()
        let queue = DispatchQueue(label: "requests")
        let own = Session(configuration: .af.ephemeral, requestQueue: queue)
        let ended = DispatchGroup()
        ended.enter()
        let made = ProtectedList<DownloadRequest>()
        // On the queue of requests, before the file is opened: the request is over when it is.
        let modifier: Session.RequestModifier = { _ in
            made.all.first?.cancel()
            ended.wait()
        }
        let request = own.download(server.url("/range/10"), shouldAutomaticallyResume: false, requestModifier: modifier)
        made.append(request.resumable(at: place))
        request.response(queue: .global()) { _ in ended.leave() }
        request.resume()
        queue.sync {}
        #expect(request.error?.isExplicitlyCancelledError == true)
        // The request still lives, and another may have its file.
        let later = session.download(server.url("/range/10")).resumable(at: place)
        #expect(try await later.serializingString().value == "abcdefghij")
    }

    @Test("cancelled after its last byte, a download is completed by the next one", arguments: [false, true])
    func cancelledAtTheEnd(isRefused: Bool) async throws {
        let place = folder.file("part")
        let server = try FixtureServer.start()
        let first = session.download(server.url("/range/10")).resumable(at: place)
        // The content has come when validation begins.
        first.validate { [weak first] _, _, _ in
            if isRefused { return .failure(URLError(.cancelled)) }
            first?.cancel()
            return .success(())
        }
        #expect(await first.serializingDownloadedFileURL().response.error != nil)
        #expect(try String(contentsOf: place, encoding: .utf8) == "abcdefghij")
        let second = session.download(server.url("/range/10")).resumable(at: place)
        #expect(try await second.serializingString().value == "abcdefghij")
        #expect(!FileManager.default.fileExists(atPath: place.path + ".resume"))
    }

    @Test("the rest alone is asked for and put behind what is there")
    func rest() async throws {
        let server = try ScriptedServer.start(Interrupted.firstHalf(), Interrupted.secondHalf)
        let data = try await interrupted(server)
        let target = folder.file("whole")
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "monitor"))
        let offsets = ProtectedList<[Int64]>()
        monitor.downloadTaskDidResumeAtOffset = { _, _, offset, total in offsets.append([offset, total]) }
        monitor.downloadTaskDidWriteData = { _, _, count, sum, total in offsets.append([count, sum, total]) }
        // Another session stands for another process: nothing is shared but the bytes.
        let later = Session.isolated(eventMonitors: [monitor])
        let request = later.download(resumingWith: data, to: { _, _ in (target, []) })
        let response = await request.serializingDownloadedFileURL().response
        #expect(response.value == target && response.resumeData == nil)
        #expect(try Data(contentsOf: target) == Data("0123456789".utf8))
        #expect(request.resumption == .continued(offset: 5))
        #expect(request.downloadProgress.completedUnitCount == 10 && request.downloadProgress.totalUnitCount == 10)
        let head = try #require(server.heads.last)
        #expect(field("Range", in: head) == "bytes=5-" && field("If-Range", in: head) == "\"v1\"")
        #expect(field("Accept-Encoding", in: head) == "identity")
        monitor.queue.sync {}
        #expect(offsets.all == [[5, 10], [5, 10, 10]])
        #expect(!FileManager.default.fileExists(atPath: try ResumeData(data).file.path))
    }

    /// A second answer, the third in case it is asked for, and what comes of them.
    struct Answer: Sendable {
        let head: String
        let content: String
        let reason: Resumption.Reason
        let asksAgain: Bool
    }

    static let answers = [
        Answer(
            head: "200 OK\r\nETag: \"v2\"", content: "abcdefgh", reason: .representationChanged, asksAgain: false),
        Answer(head: "200 OK\r\nETag: \"v1\"", content: "abcdefgh", reason: .rangeIgnored, asksAgain: false),
        Answer(
            head: "206 Partial Content\r\nContent-Range: bytes 4-9/10", content: "456789", reason: .rangeIgnored,
            asksAgain: true),
        Answer(
            head: "206 Partial Content\r\nContent-Range: bytes 5-9/11", content: "56789",
            reason: .representationChanged, asksAgain: true),
        Answer(
            head: "206 Partial Content\r\nETag: \"v2\"\r\nContent-Range: bytes 5-9/10", content: "56789",
            reason: .representationChanged, asksAgain: true),
        Answer(head: "206 Partial Content", content: "56789", reason: .rangeIgnored, asksAgain: true),
        Answer(
            head: "206 Partial Content\r\nContent-Encoding: gzip\r\nContent-Range: bytes 5-9/10", content: "56789",
            reason: .contentCoding, asksAgain: true),
        Answer(
            head: "416 Range Not Satisfiable\r\nContent-Range: bytes */3", content: "", reason: .rangeNotSatisfiable,
            asksAgain: true),
    ]

    @Test("whatever else comes, the file is of one version", arguments: answers)
    func startsAgain(answer: Answer) async throws {
        let server = try ScriptedServer.start(
            Interrupted.firstHalf(), Interrupted.response(answer.head, answer.content), Interrupted.otherVersion)
        let data = try await interrupted(server)
        let request = session.download(resumingWith: data).validate()
        #expect(try await request.serializingData().value == Data("abcdefgh".utf8))
        #expect(request.resumption == .startedAgain(answer.reason))
        #expect(server.heads.count == (answer.asksAgain ? 3 : 2))
        if answer.asksAgain { #expect(!server.heads[2].contains("Range: ")) }
        #expect(request.response?.statusCode == 200 && request.metrics?.redirectCount == 0)
        #expect(request.downloadProgress.completedUnitCount == 8)
    }

    @Test("an answer without the representation leaves the part as it is")
    func otherAnswer() async throws {
        let server = try ScriptedServer.start(
            Interrupted.firstHalf(), Interrupted.response("503 Service Unavailable", "busy"), Interrupted.secondHalf)
        let data = try await interrupted(server)
        let busy = await session.download(resumingWith: data).serializingString().response
        #expect(busy.value == "busy" && busy.response?.statusCode == 503)
        #expect(try await session.download(resumingWith: data).serializingString().value == "0123456789")
    }

    @Test("a part that ends early is a failure that can be gone on from")
    func endsEarly() async throws {
        let server = try ScriptedServer.start(
            Interrupted.firstHalf(),
            Interrupted.response("206 Partial Content\r\nContent-Range: bytes 5-7/10", "567"),
            Interrupted.response("206 Partial Content\r\nContent-Range: bytes 8-9/10", "89"))
        let response = await session.download(resumingWith: try await interrupted(server)).serializingData().response
        #expect(response.error?.urlErrorCode == .networkConnectionLost)
        let data = try #require(response.resumeData)
        #expect(try ResumeData(data).byteCount == 8)
        #expect(try await session.download(resumingWith: data).serializingString().value == "0123456789")
    }

    @Test("a redirect keeps the range")
    func redirect() async throws {
        let server = try ScriptedServer.start(
            Interrupted.firstHalf(), Interrupted.response("302 Found\r\nLocation: /elsewhere", ""),
            Interrupted.secondHalf)
        let request = session.download(resumingWith: try await interrupted(server))
        #expect(try await request.serializingString().value == "0123456789")
        #expect(server.heads.last?.hasPrefix("GET /elsewhere ") == true)
        #expect(request.metrics?.redirectCount == 1)
    }

    @Test("adapters adapt a resumed download, and fields that they added are not kept")
    func adapted() async throws {
        let server = try ScriptedServer.start(Interrupted.firstHalf(), Interrupted.secondHalf)
        let count = ProtectedList<Int>()
        let adapter = Adapter { request, _, completion in
            count.append(1)
            var request = request
            request.headers.update(.authorization(bearerToken: "\(count.all.count)"))
            completion(.success(request))
        }
        let session = Session.isolated(interceptor: adapter)
        let data = try #require(
            await session.download(server.url(), headers: ["X-Own": "1"]).serializingData().response.resumeData)
        #expect(try ResumeData(data).headers.dictionary == ["X-Own": "1"])
        #expect(try await session.download(resumingWith: data).serializingString().value == "0123456789")
        #expect(server.heads[1].contains("Authorization: Bearer 2") && server.heads[1].contains("X-Own: 1"))
    }

    // MARK: When there is resume data

    @Test("a failure carries it in request, response and error")
    func failureCarriesData() async throws {
        let server = try ScriptedServer.start(Interrupted.firstHalf())
        let request = session.download(server.url())
        let response = await request.serializingDownloadedFileURL().response
        let data = try #require(response.resumeData)
        #expect(request.resumeData == data && response.error?.downloadResumeData == data)
        let known = try ResumeData(data)
        #expect(known.url == server.url() && known.validator == .entityTag("\"v1\""))
        #expect(known.byteCount == 5 && known.expectedByteCount == 10)
        #expect(try Data(contentsOf: known.file) == Data("01234".utf8))
        try FileManager.default.removeItem(at: known.file.deletingLastPathComponent())
    }

    @Test(
        "there is none without a strong validator, in a content coding, and where parts are refused",
        arguments: [
            "", "ETag: W/\"v1\"\r\n", "Last-Modified: Sat, 01 Nov 2025 00:00:00 GMT\r\n",
            "ETag: \"v1\"\r\nAccept-Ranges: none\r\n",
        ])
    func noResumeData(fields: String) async throws {
        let server = try ScriptedServer.start(Interrupted.firstHalf(fields))
        let response = await session.download(server.url()).serializingData().response
        #expect(response.error != nil && response.resumeData == nil && response.error?.downloadResumeData == nil)
    }

    @Test("the partial file of resume data stays, whether the data is read or not, and is removed ten days later")
    func partialFileStays() async throws {
        let server = try ScriptedServer.start(Interrupted.firstHalf())
        var path = ""
        do {
            let response = await session.download(server.url()).serializingData().response
            // The property of the response is not read.
            let info = (response.error?.underlyingError as? URLError)?.userInfo
            let data = try #require(info?["NSURLSessionDownloadTaskResumeData"] as? Data)
            path = try ResumeData(data).file.path
        }
        #expect(FileManager.default.fileExists(atPath: path))
        let place = URL(fileURLWithPath: path).deletingLastPathComponent()
        // The folder looks as it does ten days later, among the folders that the next process looks at.
        let moved = folder.url.appendingPathComponent(place.lastPathComponent)
        try FileManager.default.moveItem(at: place, to: moved)
        TemporaryFolders.removeAbandoned(in: folder.url)
        #expect(FileManager.default.fileExists(atPath: moved.path), "a later download can continue from it")
        let date = Date(timeIntervalSinceNow: -11 * 86_400)
        for file in [moved.appendingPathComponent("content"), moved] {
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
        }
        TemporaryFolders.removeAbandoned(in: folder.url)
        #expect(!FileManager.default.fileExists(atPath: moved.path))
    }

    @Test("a partial file that is gone makes the download start again")
    func partialFileGone() async throws {
        let server = try ScriptedServer.start(Interrupted.firstHalf(), Interrupted.otherVersion)
        let data = try await interrupted(server)
        try FileManager.default.removeItem(at: ResumeData(data).file.deletingLastPathComponent())
        let request = session.download(resumingWith: data)
        #expect(try await request.serializingString().value == "abcdefgh")
        #expect(request.resumption == .startedAgain(.fileMissing) && server.heads[1].contains("Range: ") == false)
    }

    // MARK: Cancelling

    /// A download of which half has come, while the server holds the rest back.
    private func halfway() async throws -> (DownloadRequest, DownloadTask<URL>, ScriptedServer) {
        let server = try ScriptedServer.start(
            [
                .receiveHead, .send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 10\r\n\r\n01234"), .hold,
            ], Interrupted.secondHalf)
        let request = session.download(server.url())
        let half = AsyncStream<Void> { continuation in
            request.downloadProgress(queue: .global()) { if $0.completedUnitCount == 5 { continuation.finish() } }
        }
        let task = request.serializingDownloadedFileURL()
        for await _ in half {}
        return (request, task, server)
    }

    @Test("cancel gives resume data only when it is asked for", arguments: [false, true])
    func cancel(producing: Bool) async throws {
        let (request, task, server) = try await halfway()
        request.cancel(producingResumeData: producing)
        let response = await task.response
        #expect(response.error?.isExplicitlyCancelledError == true)
        #expect((response.resumeData != nil) == producing && request.resumeData == response.resumeData)
        guard let data = response.resumeData else { return }
        #expect(try await session.download(resumingWith: data).serializingString().value == "0123456789")
        #expect(server.heads.count == 2)
    }

    @Test("a handler gets the resume data once, and nil when there is none")
    func cancelWithHandler() async throws {
        let (request, task, server) = try await halfway()
        defer { server.stop() }
        let data = await withCheckedContinuation { continuation in
            request.cancel(byProducingResumeData: { continuation.resume(returning: $0) })
        }
        #expect(try ResumeData(#require(data)).byteCount == 5)
        #expect(await task.response.resumeData == data)
        let again = await withCheckedContinuation { continuation in
            request.cancel(byProducingResumeData: { continuation.resume(returning: $0) })
        }
        #expect(again == data)
        let plain = session.download("http://127.0.0.1:1/", interceptor: nil, shouldAutomaticallyResume: false)
        let none = await withCheckedContinuation { continuation in
            plain.cancel(byProducingResumeData: { continuation.resume(returning: $0) })
        }
        #expect(none == nil && plain.isCancelled)
        let resumed = session.download(resumingWith: try #require(data), shouldAutomaticallyResume: false)
        let same = await withCheckedContinuation { continuation in
            resumed.cancel(byProducingResumeData: { continuation.resume(returning: $0) })
        }
        #expect(same == data)
    }

    @Test("a plain cancel first means no resume data, whatever comes later")
    func firstCancelCounts() async throws {
        let (request, task, server) = try await halfway()
        defer { server.stop() }
        request.cancel()
        request.cancel(producingResumeData: true)
        #expect(await task.response.resumeData == nil)
    }
}
