import Dispatch
import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Streams", .timeLimit(.minutes(TestTimeouts.minutes)))
struct DataStreamRequestTests {
    let server: FixtureServer
    let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
    }

    /// A session on a transport that gives these pieces.
    private func scripted(_ pieces: [Data], serializationQueue: DispatchQueue? = nil) -> Session {
        Session(
            transport: ScriptedTransport { _ in
                [.head(ResponseHead(status: 200, fields: []))] + pieces.map { .content($0) }
            }, serializationQueue: serializationQueue, eventMonitors: [])
    }

    private func completion(
        of add: (@escaping @Sendable (DataStreamRequest.Completion) -> Void) -> Void
    ) async -> DataStreamRequest.Completion {
        await withCheckedContinuation { continuation in add { continuation.resume(returning: $0) } }
    }

    @Test("a closure gets every piece and then one completion")
    func closure() async throws {
        let counts = ProtectedList<Int>()
        let completion = await completion { done in
            session.streamRequest(server.url("/bytes/1000000")).validate().responseStream(on: .global()) { stream in
                switch stream.event {
                case .stream(.success(let data)): counts.append(data.count)
                case .complete(let completion): done(completion)
                }
            }
        }
        #expect(counts.all.reduce(0, +) == 1_000_000)
        #expect(completion.error == nil && completion.response?.statusCode == 200)
        #expect(completion.request?.url == server.url("/bytes/1000000") && completion.metrics != nil)
    }

    @Test("values keep their order and come one at a time, whatever queues there are")
    func order() async throws {
        let session = scripted(
            (0..<2_000).map { Data("\($0)".utf8) },
            serializationQueue: DispatchQueue(label: "concurrent", attributes: .concurrent))
        let numbers = ProtectedList<Int>()
        let strings = ProtectedList<String>()
        let request = session.streamRequest("https://any.example/", shouldAutomaticallyResume: false)
        let completion = await completion { done in
            request.responseStreamString(on: .global()) { stream in
                if let value = stream.value { strings.append(value) }
            }
            request.responseStreamDecodable(of: Int.self, on: .global()) { stream in
                if let value = stream.value { numbers.append(value) }
                if let completion = stream.completion { done(completion) }
            }
            request.resume()
        }
        #expect(completion.error == nil)
        #expect(numbers.all == Array(0..<2_000))
        // No handler is told of the end while another one, on whatever queue, has not had everything.
        #expect(strings.all == (0..<2_000).map { "\($0)" })
    }

    @Test("an async sequence gets every byte, and ends with the completion")
    func sequence() async throws {
        var count = 0
        var completions = 0
        for await stream in session.streamRequest(server.url("/bytes/10000000")).streamTask().streamingData() {
            count += stream.value?.count ?? 0
            if stream.completion != nil { completions += 1 }
        }
        #expect(count == 10_000_000)
        #expect(completions == 1)
    }

    @Test("several sequences of one task each have all of it")
    func severalSequences() async throws {
        let task = session.streamRequest(server.url("/stream/20"), shouldAutomaticallyResume: false).streamTask()
        var data = task.streamingData().makeAsyncIterator()
        var text = task.streamingStrings().makeAsyncIterator()
        var values = task.streamingResponses(serializedUsing: .passthrough).makeAsyncIterator()
        task.resume()
        var counts = [0, 0, 0]
        while let next = await data.next() { counts[0] += next.value?.count ?? 0 }
        while let next = await text.next() { counts[1] += next.value?.utf8.count ?? 0 }
        while let next = await values.next() { counts[2] += next.value?.count ?? 0 }
        #expect(counts[0] > 0 && Set(counts).count == 1)
    }

    @Test("characters that are split between two pieces stay whole, in both forms")
    func splitCharacters() async throws {
        let text = "aé∮😀z"
        let session = scripted(text.utf8.map { Data([$0]) })
        var parts: [String] = []
        for await stream in session.streamRequest("https://any.example/").streamTask().streamingStrings() {
            if let value = stream.value { parts.append(value) }
        }
        #expect(parts == ["a", "é", "∮", "😀", "z"])
        let others = ProtectedList<String>()
        _ = await completion { done in
            session.streamRequest("https://any.example/").responseStreamString(on: .global()) { stream in
                if let value = stream.value { others.append(value) }
                if let end = stream.completion { done(end) }
            }
        }
        #expect(others.all == parts)
    }

    @Test("a character that never becomes whole comes as U+FFFD at the end")
    func unfinishedCharacter() async throws {
        let session = scripted([Data([0x61, 0xE2, 0x82])])
        var parts: [String] = []
        for await stream in session.streamRequest("https://any.example/").streamTask().streamingStrings() {
            if let value = stream.value { parts.append(value) }
        }
        #expect(parts == ["a", "\u{FFFD}"])
    }

    @Test("a serialiser of one's own makes the values, off the transport's thread")
    func customSerializer() async throws {
        struct Counting: DataStreamSerializer {
            let threads: ThreadRecorder
            func serialize(_ data: Data) throws -> Int {
                threads.note("serialised")
                return data.count
            }
        }
        let threads = ThreadRecorder()
        var sum = 0
        let task = session.streamRequest(server.url("/bytes/100000")).streamTask()
        for await stream in task.streamingResponses(serializedUsing: Counting(threads: threads)) {
            sum += stream.value ?? 0
        }
        #expect(sum == 100_000)
        #expect(threads.name("serialised")?.hasPrefix("fireweed") == false, "\(threads.name("serialised") ?? "")")
    }

    @Test("breaking out of the sequence cancels the request")
    func earlyExit() async throws {
        let request = session.streamRequest(server.url("/drip?bytes=100&duration=60"))
        for await _ in request.streamTask().streamingData() { break }
        try await server.events.next(.connectionClosed)
        #expect(request.isCancelled)
    }

    @Test("without automatic cancellation the request continues to its end, without a reader")
    func earlyExitWithoutCancelling() async throws {
        let request = session.streamRequest(server.url("/bytes/30000000"))
        for await _ in request.streamTask().streamingData(automaticallyCancelling: false) { break }
        for await _ in request.downloadProgress() {}
        #expect(request.isFinished && request.error == nil)
        #expect(request.task?.countOfBytesReceived == 30_000_000)
    }

    @Test("a sequence that is never iterated sends nothing, and leaves nothing")
    func neverIterated() async throws {
        weak var gone: DataStreamRequest?
        do {
            let request = session.streamRequest(server.url("/get"))
            gone = request
            _ = request.streamTask().streamingData()
            _ = request.lines()
            _ = request.serverSentEvents()
            #expect(request.isInitialized)
        }
        await eventually("the request is released") { gone == nil }
        #expect(server.requests.isEmpty)
    }

    @Test("a request is released when its stream was dropped early", arguments: [true, false])
    func noLeak(cancels: Bool) async throws {
        weak var gone: DataStreamRequest?
        do {
            let request = session.streamRequest(server.url("/bytes/3000000"))
            gone = request
            for await _ in request.streamTask().streamingStrings(automaticallyCancelling: cancels) { break }
        }
        await eventually("the request is released") { gone == nil }
    }

    @Test("cancelling the reading task ends the sequence and the request")
    func cancelledTask() async throws {
        let request = session.streamRequest(server.url("/drip?bytes=100&duration=60"))
        let task = Task { for await _ in request.streamTask().streamingData() {} }
        try await server.events.first { if case .contentStarted = $0 { true } else { false } }
        task.cancel()
        await task.value
        try await server.events.next(.connectionClosed)
        #expect(request.isCancelled)
    }

    @Test("a policy that keeps few lets the request go on without its reader")
    func lossyPolicy() async throws {
        let request = session.streamRequest(server.url("/bytes/30000000"))
        var iterator = request.streamTask().streamingData(bufferingPolicy: .bufferingNewest(1)).makeAsyncIterator()
        for await _ in request.downloadProgress() {}
        #expect(request.isFinished)
        #expect(await iterator.next()?.completion != nil)
        #expect(await iterator.next() == nil)
    }

    @Test("a value that cannot be decoded ends the request where that is wanted", arguments: [true, false])
    func undecodable(cancels: Bool) async throws {
        let request = session.streamRequest(server.url("/robots.txt"), automaticallyCancelOnStreamError: cancels)
        var failures = 0
        var end: AFError?
        for await stream in request.streamTask().streamingDecodables(Anything.self) {
            if stream.error != nil { failures += 1 }
            if let completion = stream.completion { end = completion.error }
        }
        #expect(failures == 1)
        #expect((end == nil) == !cancels)
        #expect((end?.isExplicitlyCancelledError == true) == cancels)
        #expect(request.isCancelled == cancels)
    }

    @Test("values before a failure are handed on, and none after it")
    func failureInTheMiddle() async throws {
        let pieces = ["1", "2", "x", "4"].map { Data($0.utf8) }
        let session = scripted(pieces)
        let request = session.streamRequest("https://any.example/", automaticallyCancelOnStreamError: true)
        let log = ProtectedList<String>()
        let completion = await completion { done in
            request.responseStreamDecodable(of: Int.self, on: .global()) { stream in
                if let value = stream.value { log.append("\(value)") }
                if stream.error != nil { log.append("failure") }
                if let end = stream.completion { done(end) }
            }
        }
        #expect(log.all == ["1", "2", "failure"])
        #expect(completion.error?.isExplicitlyCancelledError == true)
    }

    @Test("what a handler throws ends the request, also when all of the content has come")
    func throwingHandler() async throws {
        struct Refusal: Error {}
        let session = scripted([Data("a".utf8), Data("b".utf8)])
        let request = session.streamRequest("https://any.example/")
        let completion = await completion { done in
            request.responseStream(on: .global()) { stream in
                if let end = stream.completion { done(end) }
                if stream.value == Data("b".utf8) { throw Refusal() }
            }
        }
        #expect(completion.error?.underlyingError is Refusal)
        #expect(request.isCancelled)
    }

    @Test(
        "after the token was cancelled in a callback no further value comes, and one completion",
        arguments: [true, false])
    func token(byToken: Bool) async throws {
        let session = scripted((0..<500).map { Data("\($0)".utf8) })
        let log = ProtectedList<String>()
        let completion = await completion { done in
            session.streamRequest("https://any.example/").responseStream(on: .global()) { stream in
                switch stream.event {
                case .stream:
                    log.append("value")
                    byToken ? stream.token.cancel() : stream.cancel()
                case .complete(let end): done(end)
                }
            }
        }
        #expect(log.all == ["value"])
        #expect(completion.error?.isExplicitlyCancelledError == true)
    }

    @Test("a handler that is added in the last callback gets the completion")
    func handlerInLastCallback() async throws {
        let session = scripted([Data("a".utf8)])
        let request = session.streamRequest("https://any.example/")
        let completions = await withCheckedContinuation { continuation in
            request.responseStream(on: .global()) { first in
                guard let outer = first.completion else { return }
                request.responseStream(on: .global()) { second in
                    if let inner = second.completion { continuation.resume(returning: [outer, inner]) }
                }
            }
        }
        #expect(completions.allSatisfy { $0.error == nil && $0.response?.statusCode == 200 })
    }

    @Test("failed validations are the completion's error")
    func validation() async throws {
        for request in [
            session.streamRequest(server.url("/status/418")).validate(),
            session.streamRequest(server.url("/status/418")).validate(statusCode: [200]),
            session.streamRequest(server.url("/json")).validate(contentType: ["image/*"]),
            session.streamRequest(server.url("/json")).validate { _, _ in .failure(URLError(.unknown)) },
        ] {
            var error: AFError?
            for await stream in request.streamTask().streamingData() { error = stream.completion?.error ?? error }
            #expect(error?.isResponseValidationError == true)
        }
    }

    @Test("monitors hear of pieces and values")
    func monitors() async throws {
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "monitor"))
        let pieces = ProtectedList<Int>()
        let heard = Monitor()
        monitor.dataTaskDidReceiveData = { _, _, data in pieces.append(data.count) }
        let session = Session.isolated(eventMonitors: [monitor, heard])
        for await _ in session.streamRequest(server.url("/bytes/1000")).streamTask().streamingStrings() {}
        await eventually("the monitors have heard") { pieces.all == [1000] && heard.values.all.count == 1 }
    }

    private final class Monitor: EventMonitor {
        let values = ProtectedList<String>()
        func request<Value: Sendable>(
            _ request: DataStreamRequest, didParseStream result: Result<Value, AFError>
        ) {
            values.append("\(Value.self)")
        }
    }
}
