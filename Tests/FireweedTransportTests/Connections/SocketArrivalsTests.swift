import Testing

@testable import FireweedTransport

/// A connection of HTTP/1.1 against a server that sends any byte at any time, by the rules of the kernel and the loop.
///
/// A response has two bytes, and a read takes two at most. What comes while a turn runs comes before the next one, or
/// right behind a read, before the turn sends a request.
private struct ConnectionWorld {
    /// How a turn begins.
    enum Poll: CaseIterable {
        case none, whole
        /// The kernel had more events than fitted.
        case withoutThisSocket
    }

    struct Turn {
        var byteCount: Int
        var poll: Poll
        var asks: Bool
        /// Whether a byte comes right behind a read of this turn.
        var hasLateByte = false

        static let all: [Turn] = (0...3).flatMap { byteCount in
            Poll.allCases.flatMap { poll in
                [
                    Turn(byteCount: byteCount, poll: poll, asks: false),
                    Turn(byteCount: byteCount, poll: poll, asks: true),
                    Turn(byteCount: byteCount, poll: poll, asks: true, hasLateByte: true),
                ]
            }
        }
    }

    /// Whether a look at the socket is made where the state says so.
    var looks = true
    private var arrivals = SocketArrivals(mayWait: false, hasEnded: false)
    private var number: UInt64 = 0
    /// How many requests have left.
    private(set) var askedCount = 0
    /// What is outstanding of the present response.
    private var rest = 0
    /// The bytes on the socket: how many requests had left when each came.
    private var socket: [Int] = []
    private var hasEdge = false
    /// Whether the present turn has read the socket, or looked at it.
    private var hasRead = false
    private(set) var isClosed = false
    private(set) var lookCount = 0
    private(set) var fault: String?

    init(looks: Bool) { self.looks = looks }

    mutating func play(_ turn: Turn) {
        guard !isClosed else { return }
        socket += Array(repeating: askedCount, count: turn.byteCount)
        if turn.byteCount > 0 { hasEdge = true }
        number += 1
        hasRead = false
        if turn.poll == .whole, hasEdge {
            hasEdge = false
            arrivals.handle(.reported(bytes: true, end: false))
        }
        if arrivals.mayWait {
            if rest > 0 { read() } else { lookWhileIdle() }
            if turn.hasLateByte {
                socket.append(askedCount)
                hasEdge = true
            }
        }
        if turn.asks, rest == 0, !isClosed { ask(areEventsKnown: turn.poll == .whole) }
    }

    private mutating func ask(areEventsKnown: Bool) {
        let (looksBefore, hasRead) = (lookCount, hasRead)
        switch arrivals.verdict(turn: number, areEventsKnown: areEventsKnown) {
        case .empty: break
        case .ended: isClosed = true
        case .unknown where askedCount > 0: lookWhileIdle()
        case .unknown: break  // A new connection: its first bytes may be a refusal.
        }
        if lookCount > looksBefore + (areEventsKnown && !hasRead ? 0 : 1) { fault = "a reuse cost more than one look" }
        guard !isClosed else { return }
        askedCount += 1
        rest = 2
    }

    private mutating func read() {
        hasRead = true
        while arrivals.mayWait, rest > 0, !isClosed {
            let bytes = socket.prefix(2)
            socket.removeFirst(bytes.count)
            if bytes.isEmpty {
                arrivals.handle(.foundNothing(turn: number))
            } else if bytes.count < 2 {
                arrivals.handle(.readShort(turn: number))
            }
            take(bytes)
        }
        // The end of a response: the connection becomes idle.
        if rest == 0, !isClosed, arrivals.mayWait { lookWhileIdle() }
    }

    private mutating func take(_ bytes: ArraySlice<Int>) {
        for cameAfter in bytes {
            guard rest > 0 else {
                isClosed = true
                return
            }
            if cameAfter < askedCount, askedCount > 1 { fault = "request \(askedCount) got a byte that came before it" }
            rest -= 1
        }
    }

    private mutating func lookWhileIdle() {
        guard looks else { return }
        hasRead = true
        lookCount += 1
        if socket.isEmpty { arrivals.handle(.foundNothing(turn: number)) } else { isClosed = true }
    }
}

@Suite("Bytes that wait on a socket")
struct SocketArrivalsTests {
    /// Plays every course of so many turns; returns the first fault, and how often a request was sent on a used
    /// connection.
    private func play(depth: Int, from world: ConnectionWorld, _ reuseCount: inout Int) -> String? {
        guard depth > 0, !world.isClosed else { return nil }
        for turn in ConnectionWorld.Turn.all {
            var next = world
            next.play(turn)
            if let fault = next.fault { return "\(fault), in \(turn)" }
            if next.askedCount > max(1, world.askedCount) { reuseCount += 1 }
            if let fault = play(depth: depth - 1, from: next, &reuseCount) { return "\(fault), after \(turn)" }
        }
        return nil
    }

    @Test("no byte that came before a request left is its answer, in every course of five turns")
    func everyCourse() {
        var reuseCount = 0
        #expect(play(depth: 5, from: ConnectionWorld(looks: true), &reuseCount) == nil)
        #expect(reuseCount > 10_000)
    }

    @Test("without a look there is a course in which such a byte is the answer")
    func withoutLooks() {
        var reuseCount = 0
        #expect(play(depth: 5, from: ConnectionWorld(looks: false), &reuseCount) != nil)
    }
}
