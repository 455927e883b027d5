// The queue of an origin under three times its load, in virtual time.

import FireweedTesting
import Testing

@testable import FireweedTransport

/// Six connections to a server of eight workers that take some 40 ms each, first come, first served.
///
/// The server can do 200 requests a second, of which six connections reach 150. It never notices that a client is gone.
private struct OverloadedOrigin {
    private static let millisecond: UInt64 = 1_000_000

    private var line: DeadlineLine
    private var latencies = LatencyWindow()
    private var random = SeededGenerator(seed: 33)
    /// When each worker and each connection is free.
    private var workers = [UInt64](repeating: 0, count: 8)
    private var connections = [UInt64](repeating: 0, count: 6)
    private let transport = EngineTransport()
    private let consumer = TransferRecorder(
        wantsReadComplete: false, afterHead: { _, _ in .undecided }, afterContent: { _, _ in .undecided },
        whenReleased: {})
    private(set) var successCount = 0
    private(set) var refusedCount = 0
    private(set) var sentCount = 0

    init(_ options: TransportOptions) {
        line = DeadlineLine(options)
    }

    /// Sends requests at a rate for so many seconds, each with half a second to its deadline.
    mutating func run(perSecond rate: UInt64, seconds: UInt64) {
        let start = 1000 * Self.millisecond
        for number in 0..<rate * seconds {
            let now = start + number * 1_000_000_000 / rate
            serve(until: now, turn: number + 1)
            enter(Int(number) + 1, at: now, turn: number + 1)
            serve(at: now, turn: number + 1)
        }
    }

    private mutating func enter(_ number: Int, at now: UInt64, turn: UInt64) {
        var message = RequestMessage(url: "http://a.test/")
        message.deadlineNanoseconds = now + 500 * Self.millisecond
        guard let exchange = transport.makeTransfer(of: message, for: consumer) as? Exchange else { return }
        (exchange.entry.number, exchange.entry.place, exchange.entry.turn) = (number, number, turn)
        line.enter(exchange, number: number, at: now)
    }

    /// Gives the connections that become free before a moment to waiting exchanges.
    private mutating func serve(until end: UInt64, turn: UInt64) {
        while line.count > 0, let next = connections.min(), next < end { serve(at: next, turn: turn) }
    }

    /// Gives the connections that are free to waiting exchanges.
    private mutating func serve(at now: UInt64, turn: UInt64) {
        while let free = connections.firstIndex(where: { $0 <= now }),
            let next = line.next(at: now, turn: turn, &latencies)
        {
            switch next {
            case .refuse: refusedCount += 1
            case .serve(let exchange):
                guard let deadline = exchange.lineDeadline, deadline > now else { continue }
                connections[free] = send(at: now, deadline)
            }
        }
    }

    /// The moment at which the connection is free again.
    private mutating func send(at now: UInt64, _ deadline: UInt64) -> UInt64 {
        sentCount += 1
        let worker = workers.indices.min { workers[$0] < workers[$1] } ?? 0
        let duration = (40 * Self.millisecond) + UInt64.random(in: 0...3 * Self.millisecond, using: &random)
        let end = max(now, workers[worker]) + duration
        workers[worker] = end
        guard end <= deadline else { return deadline }
        successCount += 1
        latencies.note(end - now, at: end)
        return end
    }
}

@Suite("Deadlines in line, under overload")
struct DeadlineLineSimulationTests {
    @Test("at three times the load the default gives at least 70 % of the server's capacity")
    func overload() {
        var origin = OverloadedOrigin(TransportOptions())
        origin.run(perSecond: 600, seconds: 10)
        #expect(origin.successCount >= 1400)
        // What is sent is answered in time.
        #expect(origin.sentCount - origin.successCount < 100)
    }

    @Test("without regard to deadlines the same load gives next to nothing")
    func without() {
        var options = TransportOptions()
        options.refusesUnreachableDeadlines = false
        var origin = OverloadedOrigin(options)
        origin.run(perSecond: 600, seconds: 10)
        #expect(origin.successCount < 400)
        #expect(origin.refusedCount == 0)
    }

    @Test("within the capacity nothing is refused")
    func light() {
        var origin = OverloadedOrigin(TransportOptions())
        origin.run(perSecond: 110, seconds: 10)
        #expect(origin.successCount == 1100)
        #expect(origin.refusedCount == 0)
    }

    @Test("newest first gives the same under overload")
    func newest() {
        var options = TransportOptions()
        options.waitingOrder = .newestFirst
        var origin = OverloadedOrigin(options)
        origin.run(perSecond: 600, seconds: 10)
        #expect(origin.successCount >= 1300)
    }
}
