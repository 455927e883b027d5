import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Async sequences of request events", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RequestSequencesTests {
    let server: FixtureServer
    let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
    }

    private func gather<Element>(_ stream: StreamOf<Element>) async -> [Element] {
        var elements: [Element] = []
        for await element in stream { elements.append(element) }
        return elements
    }

    @Test("each stream has what happened, and ends with the request")
    func all() async throws {
        let request = session.upload(Data(count: 100_000), to: server.url("/post"))
        async let responses = gather(request.httpResponses())
        async let requests = gather(request.urlRequests())
        async let tasks = gather(request.urlSessionTasks())
        async let commands = gather(request.cURLDescriptions())
        async let uploads = gather(request.uploadProgress())
        async let downloads = gather(request.downloadProgress())
        // Streams of their own: the tasks above may begin when it is over.
        var early = request.httpResponses().makeAsyncIterator()
        var earlyRequests = request.urlRequests().makeAsyncIterator()
        var earlyTasks = request.urlSessionTasks().makeAsyncIterator()
        var earlyCommands = request.cURLDescriptions().makeAsyncIterator()
        var earlyUploads = request.uploadProgress().makeAsyncIterator()
        var earlyDownloads = request.downloadProgress().makeAsyncIterator()
        let response = await request.serializingData().response
        #expect(await early.next()?.statusCode == 200)
        #expect(await early.next() == nil)
        #expect(await earlyRequests.next()?.url == server.url("/post"))
        #expect(await earlyRequests.next() == nil)
        #expect(await earlyTasks.next() == request.task)
        #expect(await earlyTasks.next() == nil)
        #expect(await earlyCommands.next()?.contains("curl -v") == true)
        #expect(await earlyCommands.next() == nil)
        var last: Progress?
        while let progress = await earlyUploads.next() { last = progress }
        #expect(last?.fractionCompleted == 1)
        last = nil
        while let progress = await earlyDownloads.next() { last = progress }
        #expect(last?.completedUnitCount == response.data.map { Int64($0.count) })
        _ = await (responses, requests, tasks, commands, uploads, downloads)
    }

    @Test("each attempt adds an element")
    func retries() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), .close],
            [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .close])
        let session = Session.isolated(interceptor: RetryPolicy(exponentialBackoffScale: 0))
        let request = session.request(server.url()).validate()
        var responses = request.httpResponses().makeAsyncIterator()
        var requests = request.urlRequests().makeAsyncIterator()
        var tasks = request.urlSessionTasks().makeAsyncIterator()
        var commands = request.cURLDescriptions().makeAsyncIterator()
        #expect(await request.serializingString().response.value == "ok")
        #expect(await [responses.next(), responses.next(), responses.next()].map(\.?.statusCode) == [503, 200, nil])
        #expect(await [requests.next(), requests.next(), requests.next()].map { $0 == nil } == [false, false, true])
        #expect(await [tasks.next(), tasks.next(), tasks.next()] == [request.firstTask, request.lastTask, nil])
        #expect(await [commands.next(), commands.next(), commands.next()].map { $0 == nil } == [false, false, true])
    }

    @Test("a finished request's streams have what there was, and end at once")
    func late() async throws {
        let request = session.request(server.url("/get"))
        _ = await request.serializingData().response
        #expect(await gather(request.httpResponses()).isEmpty)
        #expect(await gather(request.downloadProgress()).isEmpty)
        #expect(await gather(request.urlRequests()).count == 1)
        #expect(await gather(request.urlSessionTasks()).count == 1)
        #expect(await gather(request.cURLDescriptions()).count == 1)
    }

    @Test("streams take nothing away from handlers, nor from each other")
    func together() async throws {
        let request = session.request(server.url("/get"))
        let seen = ProtectedList<Int>()
        request.onHTTPResponse(on: .global()) { seen.append($0.statusCode) }
        var first = request.httpResponses().makeAsyncIterator()
        var second = request.httpResponses(bufferingPolicy: .bufferingNewest(1)).makeAsyncIterator()
        _ = await request.serializingData().response
        #expect(await first.next()?.statusCode == 200)
        #expect(await second.next()?.statusCode == 200)
        #expect(seen.all == [200])
    }

    @Test("a policy that drops all leaves nothing to read")
    func dropping() async throws {
        let request = session.request(server.url("/get"))
        var responses = request.httpResponses(bufferingPolicy: .bufferingOldest(0)).makeAsyncIterator()
        _ = await request.serializingData().response
        #expect(await responses.next() == nil)
    }

    @Test("a stream that is dropped, or whose task is cancelled, leaves the request alone and nothing behind")
    func dropped() async throws {
        weak var gone: Request?
        do {
            let request = session.request(server.url("/delay/0.1"))
            gone = request
            let reader = Task { await gather(request.httpResponses()) }
            do {
                var iterator = request.urlSessionTasks().makeAsyncIterator()
                request.resume()
                _ = await iterator.next()
            }
            reader.cancel()
            _ = await reader.value
            #expect(!request.isCancelled)
            #expect(await request.serializingData().response.error == nil)
        }
        await eventually("the request is released") { gone == nil }
    }
}

@Suite("Awaited responses", .timeLimit(.minutes(TestTimeouts.minutes)))
struct AwaitedCancellationTests {
    let session = Session.isolated()

    @Test("cancelling the waiting task cancels the request, unless that was turned off", arguments: [true, false])
    func data(cancels: Bool) async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .wait(for: "go"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .close])
        let request = session.request(server.url())
        let awaited = request.serializingString(automaticallyCancelling: cancels)
        let task = Task { await awaited.result }
        try await server.events.first { if case .head = $0 { true } else { false } }
        task.cancel()
        if !cancels { server.signal("go") }
        let result = await task.value
        #expect(request.isCancelled == cancels)
        #expect((try? result.get()) == (cancels ? nil : "ok"))
    }

    @Test("and so it is for downloads", arguments: [true, false])
    func download(cancels: Bool) async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .wait(for: "go"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .close])
        let request = session.download(server.url())
        let awaited = request.serializingData(automaticallyCancelling: cancels)
        let task = Task { await awaited.result }
        try await server.events.first { if case .head = $0 { true } else { false } }
        task.cancel()
        if !cancels { server.signal("go") }
        let result = await task.value
        #expect(request.isCancelled == cancels)
        #expect((try? result.get()) == (cancels ? nil : Data("ok".utf8)))
    }

    @Test("awaiting twice, and at once from several tasks, gives the same answer")
    func twice() async throws {
        let server = try FixtureServer.start()
        let awaited = session.request(server.url("/uuid")).serializingString()
        async let others = withTaskGroup(of: String?.self) { group in
            for _ in 0..<8 { group.addTask { try? await awaited.value } }
            return await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        let value = try await awaited.value
        #expect(try await awaited.value == value)
        #expect(await others == [value])
    }
}
