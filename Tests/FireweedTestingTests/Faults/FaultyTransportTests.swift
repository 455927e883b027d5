import FireweedTesting
import Foundation
import Testing

@Suite("Faulty transports", .timeLimit(.minutes(testTimeoutMinutes)))
struct FaultyTransportTests {
    private func outcomes(seed: UInt64, faults: [FaultyTransport.Fault: Double]) async -> [String] {
        let stubs = StubTransport { Stub.any().reply(.text("content")) }
        let session = Session(
            transport: FaultyTransport(wrapping: stubs, faults: faults, seed: seed, isPrinted: false))
        var outcomes: [String] = []
        for _ in 0..<40 {
            let response = await session.request("\(api)/").serializingData(emptyResponseCodes: [503])
                .response
            let error = response.error?.underlyingError as? URLError
            outcomes.append(
                error.map { "\($0.code.rawValue)" } ?? "\(response.response?.statusCode ?? 0)")
        }
        return outcomes + ["\(stubs.stubs.requests.count)"]
    }

    @Test("a seed gives the same faults again")
    func repeatable() async {
        let faults: [FaultyTransport.Fault: Double] = [
            .drop: 0.2, .status(503): 0.2, .cut: 0.2, .duplicate: 0.2,
        ]
        let first = await outcomes(seed: 7, faults: faults)
        #expect(await outcomes(seed: 7, faults: faults) == first)
        #expect(await outcomes(seed: 8, faults: faults) != first)
        #expect(
            Set(first).isSuperset(of: ["200", "503", "\(URLError.Code.networkConnectionLost.rawValue)"]))
    }

    @Test("a transport prints its seed")
    func seed() {
        var lines: [String] = []
        _ = FaultyTransport(wrapping: StubTransport {}, faults: [:], seed: 42) { lines.append($0) }
        #expect(lines == ["FaultyTransport: seed 42\n"])
    }

    @Test("each fault does what it says")
    func kinds() async {
        let lost = "\(URLError.Code.networkConnectionLost.rawValue)"
        let all = { (outcome: String, count: Int) in Array(repeating: outcome, count: 40) + ["\(count)"]
        }
        #expect(await outcomes(seed: 1, faults: [.drop: 1]) == all(lost, 0))
        #expect(await outcomes(seed: 1, faults: [.status(503): 1]) == all("503", 0))
        #expect(await outcomes(seed: 1, faults: [.cut: 1]) == all(lost, 40))
        #expect(await outcomes(seed: 1, faults: [.delay(.milliseconds(1)): 1]) == all("200", 40))
        #expect(await outcomes(seed: 1, faults: [.reorder: 1]) == all("200", 40))
        #expect(await outcomes(seed: 1, faults: [.slow(bytesPerSecond: 100_000): 1]) == all("200", 40))
        #expect(await outcomes(seed: 1, faults: [:]) == all("200", 40))
        // A probability that is negative or no number counts as 0.
        #expect(await outcomes(seed: 1, faults: [.cut: -1, .drop: 1]) == all(lost, 0))
        #expect(await outcomes(seed: 1, faults: [.cut: .nan, .drop: 1]) == all(lost, 0))
    }

    /// A session on a faulty transport, over stubs on a clock that jumps.
    private func session(_ fault: FaultyTransport.Fault, clock: TestClock, @StubsBuilder _ stubs: () -> [Stub])
        -> Session
    {
        let stubs = StubTransport(clock: clock, stubs)
        return Session(
            transport: FaultyTransport(wrapping: stubs, faults: [fault: 1], seed: 1, isPrinted: false))
    }

    @Test("slow content comes whole, and takes its time")
    func slow() async throws {
        let clock = TestClock.automatic
        let content = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0) })
        let session = session(.slow(bytesPerSecond: 1000), clock: clock) { Stub.any().reply(.data(content)) }
        #expect(try await session.request("\(api)/").serializingData().value == content)
        #expect(clock.elapsed >= .seconds(4) && clock.elapsed <= .seconds(6), "\(clock.elapsed)")
        let download = session.download("\(api)/")
        #expect(try await download.serializingData().value == content)
    }

    @Test("a request with slow content can be suspended, and cancelled")
    func slowControl() async throws {
        let session = session(.slow(bytesPerSecond: 1000), clock: TestClock()) {
            Stub.any().reply(.data(Data(count: 5000)))
        }
        let request = session.streamRequest("\(api)/")
        var count = 0
        for await event in request.streamTask().streamingData() {
            guard let data = event.value else { continue }
            count += data.count
            request.suspend()
            request.resume()
            request.cancel()
        }
        #expect(count == 100)
    }

    @Test("ends are put into another order, and none is lost")
    func reorder() async throws {
        let feeds = [ResponseFeed(), ResponseFeed()]
        // An end is held for a second of the clock at most.
        let stubs = StubTransport(clock: TestClock()) {
            for index in feeds.indices { Stub.get("/feed\(index)").reply(.stream(from: feeds[index])) }
            Stub.any().reply(.text("at once"))
        }
        let (stubEnds, stubContinuation) = AsyncStream<String>.makeStream()
        var foundAtStub = stubEnds.makeAsyncIterator()
        let noting = NotingTransport(wrapping: stubs) { stubContinuation.yield($0) }
        let faulty = FaultyTransport(wrapping: noting, faults: [.reorder: 1], seed: 1, isPrinted: false)
        let (ends, continuation) = AsyncStream<String>.makeStream()
        var found = ends.makeAsyncIterator()
        let start = { (path: String) in
            let message = RequestMessage(url: "\(api)/\(path)")
            let transfer = faulty.makeTransfer(of: message, for: EndConsumer { continuation.yield(path) })
            transfer.start(Flow(.running, revision: 1))
            _ = try await stubs.stubs.takeRequest()
            return transfer
        }
        let first = [try await start("feed0"), try await start("held")]
        #expect(await foundAtStub.next()?.hasSuffix("/held") == true)
        feeds[0].finish()
        #expect(await [found.next(), found.next()] == ["feed0", "held"])
        // An end that is held comes when its transfer is cancelled.
        let second = [try await start("feed1"), try await start("cancelled")]
        second[1].cancel()
        #expect(await found.next() == "cancelled")
        feeds[1].finish()
        #expect(await found.next() == "feed1")
        withExtendedLifetime((first, second)) {}
    }

    @Test("a retry policy brings requests through every fault on a wire", arguments: [false, true])
    func wire(http2: Bool) async throws {
        let content = Data((0..<3000).map { UInt8(truncatingIfNeeded: $0) })
        let server = try MockServer.start(certificate: .trusted, http2: http2) {
            Stub.get("/{number}").reply { .data(content, headers: ["X-Number": $0.parameters["number"] ?? ""]) }
        }
        let faults: [FaultyTransport.Fault: Double] = [
            .drop: 0.1, .delay(.milliseconds(1)): 0.1, .cut: 0.1, .duplicate: 0.1, .status(503): 0.1,
            .slow(bytesPerSecond: 1_000_000): 0.1, .reorder: 0.1,
        ]
        let engine = EngineTransport(settings: PoolSettings(options: server.transportOptions))
        let faulty = FaultyTransport(wrapping: engine, faults: faults, seed: 11, isPrinted: false)
        let policy = RetryPolicy(retryLimit: 30, exponentialBackoffScale: 0.001)
        let session = Session(transport: faulty, interceptor: policy)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                group.addTask {
                    let response = await session.request(server.url("/\(number)")).validate().serializingData().response
                    #expect(response.value == content && response.response?.headers["X-Number"] == "\(number)")
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("a request that is cancelled before its delay is over ends, and is not sent")
    func cancelledDelay() async {
        let clock = TestClock()
        let stubs = StubTransport(clock: clock) { Stub.any() }
        let faulty = FaultyTransport(wrapping: stubs, faults: [.delay(.seconds(5)): 1], seed: 1, isPrinted: false)
        let session = Session(transport: faulty)
        let request = session.request("\(api)/")
        let task = request.serializingData()
        async let response = task.response
        await clock.delayIsPending()
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        clock.advance(by: .seconds(5))
        async let next = session.request("\(api)/next").serializingData().response
        await clock.delayIsPending()
        clock.advance(by: .seconds(5))
        _ = await next
        #expect(stubs.stubs.requests.map(\.path) == ["/next"])
    }

    @Test("a retry policy brings requests through a bad network")
    func soak() async throws {
        let stubs = StubTransport(clock: TestClock.automatic) { Stub.any().reply(.text("content")) }
        let faulty = FaultyTransport(
            wrapping: stubs, faults: [.drop: 0.3, .status(503): 0.2], seed: 3, isPrinted: false)
        let session = Session(transport: faulty, interceptor: RetryPolicy(retryLimit: 20))
        for _ in 0..<30 {
            #expect(
                try await session.request("\(api)/").validate().serializingString().value == "content")
        }
    }
}

/// Says which transfers have ended, after their consumers were told.
private final class NotingTransport: Transport {
    private let base: StubTransport
    private let note: @Sendable (_ url: String) -> Void

    init(wrapping base: StubTransport, _ note: @escaping @Sendable (_ url: String) -> Void) {
        self.base = base
        self.note = note
    }

    var abilities: TransportAbilities { base.abilities }
    var executor: (any TaskExecutor)? { nil }
    var clock: any SessionClock { base.clock }
    func shutDown() { base.shutDown() }

    func makeTransfer(of message: RequestMessage, for consumer: any TransferConsumer) -> any TransferControl {
        let (url, note) = (message.url, note)
        return base.makeTransfer(of: message, for: NotingConsumer(consumer) { note(url) })
    }
}

/// Says that a transfer has ended, after its consumer was told.
private final class NotingConsumer: TransferConsumer {
    private let base: any TransferConsumer
    private let tell: @Sendable () -> Void

    init(_ base: any TransferConsumer, _ tell: @escaping @Sendable () -> Void) {
        self.base = base
        self.tell = tell
    }

    func transferDidReceive(_ head: ResponseHead) -> Flow { base.transferDidReceive(head) }
    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow { base.transferDidReceive(content) }

    func transferDidFinish(_ end: consuming TransferEnd) {
        base.transferDidFinish(end)
        tell()
    }
}

/// Says that a transfer has ended.
private final class EndConsumer: TransferConsumer {
    private let tell: @Sendable () -> Void

    init(_ tell: @escaping @Sendable () -> Void) {
        self.tell = tell
    }

    func transferDidReceive(_ head: ResponseHead) -> Flow { .undecided }
    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow { .undecided }
    func transferDidFinish(_ end: consuming TransferEnd) { tell() }
}
