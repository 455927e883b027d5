// Messages that are sent twice.

import FireweedTesting
import FireweedTransport
import FixtureServer
import Foundation
import Synchronization
import Testing

@testable import Fireweed

@Suite("Hedging", .timeLimit(.minutes(TestTimeouts.minutes)))
struct HedgingTests {
    private static let url = "https://api.test/things"

    private static func session(
        _ hedging: Hedging, clock: any SessionClock, @StubsBuilder _ stubs: () -> [Stub]
    ) -> Session {
        Session(
            transport: StubTransport(clock: clock, stubs), eventMonitors: [],
            options: SessionOptions(guards: [hedging]))
    }

    /// Answers slowly at first, and at once afterwards.
    private static func slowThenQuick(_ second: MockResponse = .text("second")) -> Stub {
        let count = Mutex(0)
        return Stub.any().reply { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return number == 1 ? .text("first").delayed(by: .seconds(1)) : second
        }
    }

    @Test("the second message answers when the first one is late")
    func second() async {
        let (hedging, clock) = (Hedging(after: .fixed(.milliseconds(40))), TestClock())
        let session = Self.session(hedging, clock: clock) { Self.slowThenQuick() }
        async let answer = session.request(Self.url).serializingString().response
        await clock.delayIsPending()
        clock.advance(by: .milliseconds(40))
        #expect(await answer.value == "second")
        #expect(hedging.counts == .init(messages: 1, hedges: 1, wins: 1))
        #expect(session.stubs.requests.count == 2)
    }

    private typealias Counts = Hedging.Counts

    @Test("the first message answers when its head comes before the second's, which is cancelled")
    func first() async {
        let (hedging, clock) = (Hedging(after: .fixed(.milliseconds(40))), TestClock())
        let session = Self.session(hedging, clock: clock) {
            Self.slowThenQuick(.text("second").delayed(by: .seconds(5)))
        }
        async let answer = session.request(Self.url).serializingString().response
        await clock.delayIsPending()
        clock.advance(by: .milliseconds(40))
        await eventually("the second message was sent") { session.stubs.requests.count == 2 }
        clock.advance(by: .milliseconds(960))
        #expect(await answer.value == "first")
        #expect(hedging.counts == .init(messages: 1, hedges: 1, wins: 0))
    }

    @Test("a second message that fails does not fail the request")
    func secondFails() async {
        let (hedging, clock) = (Hedging(after: .fixed(.milliseconds(40))), TestClock())
        let session = Self.session(hedging, clock: clock) { Self.slowThenQuick(.failure(.cannotConnectToHost)) }
        async let answer = session.request(Self.url).serializingString().response
        await clock.delayIsPending()
        clock.advance(by: .milliseconds(40))
        await eventually("the second message was sent") { session.stubs.requests.count == 2 }
        clock.advance(by: .milliseconds(960))
        #expect(await answer.value == "first")
        #expect(hedging.counts == .init(messages: 1, hedges: 1, wins: 0))
    }

    @Test("a response in time is not hedged")
    func inTime() async {
        let (hedging, clock) = (Hedging(after: .fixed(.milliseconds(40))), TestClock())
        let session = Self.session(hedging, clock: clock) {
            Stub.any().reply(.text("first").delayed(by: .milliseconds(39)))
        }
        for _ in 0..<10 {
            async let answer = session.request(Self.url).serializingString().response
            await clock.delayIsPending()
            clock.advance(by: .milliseconds(39))
            #expect(await answer.value == "first")
        }
        #expect(hedging.counts == .init(messages: 10, hedges: 0, wins: 0))
    }

    @Test("no second message is sent after hedging was turned off")
    func turnedOff() async {
        let (hedging, clock) = (Hedging(after: .fixed(.milliseconds(40))), TestClock())
        let session = Self.session(hedging, clock: clock) {
            Stub.any().reply(.text("first").delayed(by: .seconds(1)))
        }
        async let answer = session.request(Self.url).serializingString().response
        await clock.delayIsPending()
        hedging.isEnabled = false
        clock.advance(by: .milliseconds(40))
        clock.advance(by: .milliseconds(960))
        #expect(await answer.value == "first")
        #expect(hedging.counts == .init(messages: 1, hedges: 0, wins: 0))
    }

    @Test("only messages that may be sent twice are hedged")
    func eligible() {
        let hedging = Hedging()
        func message(_ method: String, _ change: (inout RequestMessage) -> Void = { _ in }) -> RequestMessage {
            var message = RequestMessage(url: Self.url, method: method)
            change(&message)
            return message
        }
        for method in ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"] {
            #expect(hedging.mayHedge(message(method)), "\(method)")
            #expect(hedging.mayHedge(message(method) { $0.body = .data(Data("content".utf8)) }), "\(method)")
        }
        for method in ["POST", "PATCH", "CONNECT"] { #expect(!hedging.mayHedge(message(method)), "\(method)") }
        let key = FieldBlock([Field(name: "idempotency-key", value: "1")])
        #expect(hedging.mayHedge(message("POST") { $0.fields = key }))
        #expect(!hedging.mayHedge(message("PUT") { $0.body = .reader { throw URLError(.unknown) } }))
        #expect(!hedging.mayHedge(message("GET") { $0.isStream = true }))
        hedging.isEnabled = false
        #expect(!hedging.mayHedge(message("GET")))
    }

    @Test("the budget bounds the second messages, and each twentieth message adds one")
    func budget() async {
        var budget = Hedging.Budget()
        (budget.ratio, budget.burst) = (0.05, 2)
        let hedging = Hedging(after: .fixed(.zero), budget: budget)
        for _ in 0..<100 { #expect(hedging.begin(RequestMessage(url: Self.url), origin: "", at: 0) == 0) }
        #expect((0..<10).map { _ in hedging.takeHedge() }.count { $0 } == 2)
        for _ in 0..<41 { _ = hedging.begin(RequestMessage(url: Self.url), origin: "", at: 0) }
        #expect((0..<10).map { _ in hedging.takeHedge() }.count { $0 } == 2)
        #expect(hedging.counts == .init(messages: 141, hedges: 0, wins: 0), "none was sent yet")
    }

    @Test("a second message counts when it is sent; one that is not gives back what it took")
    func fates() {
        var budget = Hedging.Budget()
        (budget.ratio, budget.burst) = (0, 1)
        let hedging = Hedging(after: .fixed(.zero), budget: budget)
        #expect(hedging.takeHedge() && !hedging.takeHedge())
        hedging.noteHedge(.unneeded)
        #expect(hedging.counts.hedges == 0)
        #expect(hedging.takeHedge() && !hedging.takeHedge())
        hedging.noteHedge(.sent)
        #expect(hedging.counts.hedges == 1)
        hedging.noteHedge(.refused)
        #expect(hedging.counts.hedges == 0)
        #expect(hedging.takeHedge() && !hedging.takeHedge())
    }

    @Test("a second message that another guard refuses takes nothing from the budget")
    func refusedSecond() async {
        var budget = Hedging.Budget()
        (budget.ratio, budget.burst) = (0, 1)
        let (hedging, clock) = (Hedging(after: .fixed(.milliseconds(40)), budget: budget), TestClock())
        let limit = ConcurrencyLimit(.fixed(1))
        let session = Session(
            transport: StubTransport(clock: clock) { Stub.any().reply(.text("first").delayed(by: .seconds(1))) },
            eventMonitors: [], options: SessionOptions(guards: [hedging, limit]))
        for count in 1...3 {
            async let answer = session.request(Self.url).serializingString().response
            await clock.delayIsPending()
            clock.advance(by: .milliseconds(40))
            await eventually("the second message was refused") { limit.refusalCount == count }
            clock.advance(by: .milliseconds(960))
            #expect(await answer.value == "first")
            await eventually("it is given back") { hedging.counts == .init(messages: count, hedges: 0, wins: 0) }
        }
        #expect(session.stubs.requests.count == 3)
    }

    @Test(
        "a change with a precondition is not sent twice, unless a key says that it is one",
        arguments: ["If-Match", "if-none-match", "If-Unmodified-Since", "If"])
    func conditional(field: String) {
        let hedging = Hedging()
        func mayHedge(_ method: String, _ fields: [Field]) -> Bool {
            var message = RequestMessage(url: Self.url, method: method)
            message.fields = FieldBlock(fields)
            return hedging.mayHedge(message)
        }
        let condition = Field(name: field, value: "\"1\"")
        for method in ["PUT", "DELETE"] {
            #expect(mayHedge(method, [Field(name: "Content-Type", value: "text/plain")]), "\(method)")
            #expect(!mayHedge(method, [condition]), "\(method)")
            #expect(mayHedge(method, [condition, Field(name: "Idempotency-Key", value: "1")]), "\(method)")
        }
        for method in ["GET", "HEAD", "OPTIONS", "TRACE"] { #expect(mayHedge(method, [condition]), "\(method)") }
    }

    @Test("a created resource is not reported as a conflict with itself")
    func created() async {
        let (hedging, clock) = (Hedging(after: .fixed(.milliseconds(40))), TestClock())
        let isThere = Atomic(false)
        let session = Self.session(hedging, clock: clock) {
            Stub.put("/things").reply { _ in
                // The first one does its work at once, and answers late.
                isThere.exchange(true, ordering: .relaxed) ? .status(412) : .status(201).delayed(by: .seconds(1))
            }
        }
        let headers: HTTPHeaders = ["If-None-Match": "*"]
        async let answer = session.request(Self.url, method: .put, headers: headers).serializingData().response
        await clock.delayIsPending()
        clock.advance(by: .milliseconds(40))
        clock.advance(by: .milliseconds(960))
        #expect(await answer.response?.statusCode == 201)
        #expect(hedging.counts == .init(messages: 0, hedges: 0, wins: 0))
    }

    @Test("the delay is what 95 of 100 heads of the origin took, once ten are known")
    func percentile() {
        let hedging = Hedging()
        let message = RequestMessage(url: Self.url)
        for _ in 0..<9 { hedging.noteHead(of: "a", after: 10, isSecond: false, at: 0) }
        #expect(hedging.begin(message, origin: "a", at: 0) == nil)
        for count in 1...41 { hedging.noteHead(of: "a", after: UInt64(count * 100), isSecond: false, at: 0) }
        #expect(hedging.begin(message, origin: "a", at: 0) == 3900)
        #expect(hedging.begin(message, origin: "a", at: LatencyWindow.longestAge + 1) == nil, "they are too old")
        #expect(hedging.begin(message, origin: "b", at: 0) == nil)
    }

    @Test("every transfer ends once, whatever its owner calls and whoever answers")
    func endsOnce() async {
        let base = ScriptedTransport { _ in
            Bool.random() ? [.head(ResponseHead(status: 200, fields: [])), .content(Data("content".utf8))] : [.stall]
        }
        var budget = Hedging.Budget()
        (budget.ratio, budget.burst) = (1, 1000)
        let transport = Hedging(after: .fixed(.zero), budget: budget).guarding(base)
        await withTaskGroup { group in
            for _ in 0..<300 {
                group.addTask {
                    let recorder = EndRecorder()
                    let control = transport.makeTransfer(of: RequestMessage(url: Self.url), for: recorder)
                    if Bool.random() { control.start(.undecided) }
                    await Task.yield()
                    control.cancel()
                    control.start(.undecided)
                    await recorder.end()
                    #expect(recorder.endCount == 1 && recorder.headCount <= 1)
                }
            }
        }
    }

    /// Notes how long its transfer took.
    private final class Client: TransferConsumer {
        private let done: @Sendable () -> Void

        init(done: @escaping @Sendable () -> Void) { self.done = done }

        func transferDidReceive(_ head: ResponseHead) -> Flow { .undecided }
        func transferDidReceive(_ content: borrowing ContentBytes) -> Flow { .undecided }
        func transferDidFinish(_ end: consuming TransferEnd) { if end.failure == nil { done() } }
    }

    @Test("where 2 of 100 responses take a second, p99 is at most 100 ms at 5 % more load")
    func measurement() {
        let clock = TestClock()
        let sentCount = Mutex(0)
        let server = SimulatedServer(clock: clock, workers: .max) { random in
            sentCount.withLock { $0 += 1 }
            return Int.random(in: 0..<100, using: &random) < 2 ? .seconds(1) : .milliseconds(9)
        }
        let hedging = Hedging(after: .fixed(.milliseconds(40)))
        let transport = hedging.guarding(server)
        let durations = Mutex<[Duration]>([])
        for _ in 0..<3000 {
            let start = clock.elapsed
            let client = Client { durations.withLock { $0.append(clock.elapsed - start) } }
            transport.makeTransfer(of: RequestMessage(url: Self.url), for: client).start(.undecided)
            server.settle()
            for _ in 0..<5 { server.advance(by: .milliseconds(1)) }
        }
        for _ in 0..<2000 { server.advance(by: .milliseconds(1)) }
        let sorted = durations.withLock { $0.sorted() }
        #expect(sorted.count == 3000)
        #expect(sorted[2969] <= .milliseconds(100))
        #expect(sentCount.withLock { $0 } <= 3150)
        #expect(hedging.counts.hedges > 30)
    }
}
