import CLinux
import Glibc
import Testing

@testable import FireweedTransport

/// One end of a socket pair: always writable, and readable once `poke()` was called.
private final class TestSocket {
    let descriptor: Int32
    private var peer: Int32

    init() throws { (descriptor, peer) = try Self.pair() }

    /// Closes the socket; a new socket gets its descriptor, as the kernel may do at any time.
    func reopen() throws {
        let (end, newPeer) = try Self.pair()
        try #require(dup2(end, descriptor) == descriptor)
        close(end)
        close(peer)
        peer = newPeer
    }

    /// Another descriptor of the same socket, with a number of at least `lowest`.
    func duplicate(atLeast lowest: Int32) throws -> Int32 {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, lowest)
        try #require(copy >= lowest)
        return copy
    }

    func poke() { _ = write(peer, [UInt8(1)], 1) }

    private static func pair() throws -> (Int32, Int32) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    deinit {
        close(descriptor)
        close(peer)
    }
}

private final class Watcher: SocketWatcher {
    func socket(_ descriptor: Int32, isReady readiness: SocketReadiness) {}
    func socket(_ descriptor: Int32, lostAddress address: IPAddress) {}
}

/// A registry on an epoll set of its own; tests read the tags of the events that the kernel reports.
private final class TestRegistry {
    private let poller: Poller
    var sockets: SocketRegistry

    init() throws {
        poller = try #require(Poller())
        sockets = SocketRegistry(poller: poller)
    }

    /// The tags of all events that are at hand.
    func tags() -> [UInt64] {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 16) { events in
            let count = poller.wait(into: events, milliseconds: 0)
            return (0..<count).map { fw_epoll_tag(&events[$0]) }
        }
    }

    func hand(_ descriptor: Int32, to watcher: Watcher) -> Bool { sockets.hand(descriptor, to: watcher) }

    /// Takes an event.
    func receiver(
        of tag: UInt64, _ readiness: SocketReadiness = .writable
    ) -> (descriptor: Int32, watcher: any SocketWatcher)? {
        sockets.receiver(of: readiness, tag: tag)
    }

    deinit { poller.close() }
}

@Suite("Socket registry")
struct SocketRegistryTests {
    @Test("an event reaches the watcher of its descriptor")
    func delivery() throws {
        let registry = try TestRegistry()
        let (first, second) = (try TestSocket(), try TestSocket())
        let (one, two) = (Watcher(), Watcher())
        registry.sockets.watchEdges(of: first.descriptor, for: one)
        registry.sockets.watchEdges(of: second.descriptor, for: two)
        let receivers = registry.tags().compactMap { registry.receiver(of: $0) }
        #expect(receivers.count == 2)
        for receiver in receivers {
            #expect(receiver.descriptor == (receiver.watcher === one ? first : second).descriptor)
        }
    }

    @Test("a socket is reported for its edges: not again until something happens on it")
    func edges() throws {
        let registry = try TestRegistry()
        let socket = try TestSocket()
        registry.sockets.watchEdges(of: socket.descriptor, for: Watcher())
        #expect(registry.tags().count == 1)
        #expect(registry.tags().isEmpty)
        socket.poke()
        #expect(registry.tags().count == 1)
    }

    @Test("an event that the kernel reported before the registration ended is dropped")
    func lateEvent() throws {
        let registry = try TestRegistry()
        let socket = try TestSocket()
        registry.sockets.watchEdges(of: socket.descriptor, for: Watcher())
        let tag = try #require(registry.tags().first)
        registry.sockets.willClose(socket.descriptor)
        #expect(registry.receiver(of: tag) == nil)
        socket.poke()
        #expect(registry.tags().isEmpty)
    }

    @Test("an event of a closed socket does not reach the socket that has its number now", arguments: [true, false])
    func descriptorReuse(isTold: Bool) throws {
        let registry = try TestRegistry()
        let socket = try TestSocket()
        let number = socket.descriptor
        registry.sockets.watchEdges(of: number, for: Watcher())
        let oldTag = try #require(registry.tags().first)
        // Also where nothing said that the descriptor was closed.
        if isTold { registry.sockets.willClose(number) }
        try socket.reopen()
        let watcher = Watcher()
        registry.sockets.watchEdges(of: number, for: watcher)
        let newTag = try #require(registry.tags().first)
        #expect(registry.receiver(of: oldTag) == nil)
        #expect(registry.receiver(of: newTag)?.watcher === watcher)
    }

    @Test("a descriptor that is handed over keeps its registration, and its events go to the new watcher")
    func handingOver() throws {
        let registry = try TestRegistry()
        let socket = try TestSocket()
        weak var first: Watcher?
        do {
            let watcher = Watcher()
            first = watcher
            registry.sockets.watchEdges(of: socket.descriptor, for: watcher)
        }
        let tag = try #require(registry.tags().first)
        #expect(first != nil, "the registry holds the watcher")
        let second = Watcher()
        #expect(!registry.hand(socket.descriptor, to: second))
        #expect(first == nil, "and releases it when the descriptor has another one")
        #expect(registry.receiver(of: tag)?.watcher === second)
        socket.poke()
        #expect(registry.tags() == [tag])
    }

    @Test("a watcher that gets a descriptor hears whether the peer has closed before", arguments: [false, true])
    func peerClosed(hasClosed: Bool) throws {
        let registry = try TestRegistry()
        let socket = try TestSocket()
        registry.sockets.watchEdges(of: socket.descriptor, for: Watcher())
        let tag = try #require(registry.tags().first)
        _ = registry.receiver(of: tag, hasClosed ? [.readable, .peerClosed] : .readable)
        #expect(registry.hand(socket.descriptor, to: Watcher()) == hasClosed)
        #expect(registry.hand(socket.descriptor, to: Watcher()) == hasClosed, "for every watcher")
        registry.sockets.willClose(socket.descriptor)
        try socket.reopen()
        registry.sockets.watchEdges(of: socket.descriptor, for: Watcher())
        _ = registry.receiver(of: tag, [.readable, .peerClosed])
        #expect(!registry.hand(socket.descriptor, to: Watcher()), "the older socket closed, and not this one")
    }

    @Test("a second `willClose` changes nothing, also when the number is registered again in between")
    func closedTwice() throws {
        let registry = try TestRegistry()
        let socket = try TestSocket()
        weak var first: Watcher?
        do {
            let watcher = Watcher()
            first = watcher
            registry.sockets.watchEdges(of: socket.descriptor, for: watcher)
        }
        registry.sockets.willClose(socket.descriptor)
        #expect(first == nil)
        registry.sockets.willClose(socket.descriptor)
        let watcher = Watcher()
        registry.sockets.watchEdges(of: socket.descriptor, for: watcher)
        let tag = try #require(registry.tags().first)
        #expect(registry.receiver(of: tag)?.watcher === watcher)
    }

    @Test(
        "numbers beyond the table's size are unknown until they are registered, and then leave the others as they are")
    func growth() throws {
        let registry = try TestRegistry()
        let socket = try TestSocket()
        registry.sockets.willClose(socket.descriptor)
        registry.sockets.willClose(100_000)
        #expect(registry.receiver(of: 100_000) == nil)
        let low = Watcher()
        registry.sockets.watchEdges(of: socket.descriptor, for: low)
        let lowTag = try #require(registry.tags().first)
        // Each is far behind the end of the table that the one before it has made.
        for lowest: Int32 in [200, 201, 500] {
            let number = try socket.duplicate(atLeast: lowest)
            let high = Watcher()
            registry.sockets.watchEdges(of: number, for: high)
            let tag = try #require(registry.tags().first)
            #expect(registry.receiver(of: tag)?.watcher === high)
            #expect(registry.receiver(of: tag)?.descriptor == number)
            // In a busy process all three numbers may be the same: each registration is a generation further then.
            #expect(registry.receiver(of: tag + 1 << 32) == nil, "a generation that has not been")
            registry.sockets.willClose(number)
            close(number)
        }
        #expect(registry.receiver(of: lowTag)?.watcher === low)
    }

    private enum Operation: CaseIterable {
        case watch, hand, willClose, reopen
    }

    @Test("after any six operations on one number, only the events of its present registration have a receiver")
    func everySequence() throws {
        let socket = try TestSocket()
        let number = socket.descriptor
        let operations = Operation.allCases
        for index in 0..<4096 {
            let registry = try TestRegistry()
            let sequence = (0..<6).map { operations[index >> (2 * $0) & 3] }
            var present: (tag: UInt64, watcher: Watcher)?
            var earlier: [UInt64] = []
            for operation in sequence {
                switch operation {
                case .watch:
                    let watcher = Watcher()
                    registry.sockets.watchEdges(of: number, for: watcher)
                    if let present { earlier.append(present.tag) }
                    present = (try #require(registry.tags().first, "\(sequence)"), watcher)
                case .hand:
                    guard let tag = present?.tag else { continue }
                    let watcher = Watcher()
                    _ = registry.hand(number, to: watcher)
                    present = (tag, watcher)
                case .willClose:
                    registry.sockets.willClose(number)
                    if let present { earlier.append(present.tag) }
                    present = nil
                case .reopen: try socket.reopen()
                }
                #expect(earlier.allSatisfy { registry.receiver(of: $0) == nil }, "\(sequence)")
                if let present {
                    #expect(registry.receiver(of: present.tag)?.watcher === present.watcher, "\(sequence)")
                }
            }
        }
    }
}
