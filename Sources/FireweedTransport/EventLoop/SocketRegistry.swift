// The sockets that a loop watches, and their owners.

import CLinux

/// The readiness of a socket, or the readiness for which a socket is watched.
struct SocketReadiness: OptionSet {
    let rawValue: UInt32

    static let readable = SocketReadiness(rawValue: EPOLLIN.rawValue)
    static let writable = SocketReadiness(rawValue: EPOLLOUT.rawValue)
    static let failed = SocketReadiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
    /// The peer sends nothing more; earlier bytes may still be unread.
    static let peerClosed = SocketReadiness(rawValue: EPOLLRDHUP.rawValue)
    /// Every readiness, reported once when it begins (edge-triggered, epoll(7)).
    static let edges = SocketReadiness(
        rawValue: EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue)

    /// Whether the peer sends nothing more, or the connection is lost.
    var tellsOfEnd: Bool { !isDisjoint(with: [.peerClosed, .failed]) }
}

/// Receives the readiness events of sockets; called on the loop's thread.
protocol SocketWatcher: AnyObject {
    func socket(_ descriptor: Int32, isReady readiness: SocketReadiness)
    /// The machine has lost the socket's local address: the kernel no longer receives bytes for that address.
    func socket(_ descriptor: Int32, lostAddress address: IPAddress)
}

/// The table of registered sockets, indexed by descriptor.
///
/// A socket is registered once, edge-triggered, and stays registered until it is closed. The watcher remembers what the
/// socket is ready for until a read or a write shows otherwise, so that neither pausing nor resuming costs a system
/// call.
struct SocketRegistry {
    private struct Entry {
        /// Grows each time the registration ends; events of an older generation are dropped.
        var generation: UInt32 = 0
        /// `nil` for a descriptor that is not registered.
        var watcher: (any SocketWatcher)?
        /// Whether the peer has closed its side: the kernel reports this once, perhaps to an earlier watcher.
        var hasPeerClosed = false
    }

    private let poller: Poller
    private var entries: [Entry] = []

    init(poller: Poller) {
        self.poller = poller
    }

    /// Registers a descriptor for all events, edge-triggered; `willClose` ends the registration.
    mutating func watchEdges(of descriptor: Int32, for watcher: any SocketWatcher) {
        let missing = Int(descriptor) + 1 - entries.count
        if missing > 0 { entries.append(contentsOf: repeatElement(Entry(), count: max(missing, 64))) }
        willClose(descriptor)
        entries[Int(descriptor)].watcher = watcher
        entries[Int(descriptor)].hasPeerClosed = false
        poller.add(descriptor, events: SocketReadiness.edges.rawValue, tag: tag(of: descriptor))
    }

    /// Gives a registered descriptor to another watcher.
    ///
    /// Returns whether the peer has closed already. No event will report it, so the new watcher reads to the end.
    mutating func hand(_ descriptor: Int32, to watcher: any SocketWatcher) -> Bool {
        entries[Int(descriptor)].watcher = watcher
        return entries[Int(descriptor)].hasPeerClosed
    }

    /// Ends the registration of a descriptor, if there is one; called just before the descriptor is closed.
    mutating func willClose(_ descriptor: Int32) {
        let index = Int(descriptor)
        guard index < entries.count, entries[index].watcher != nil else { return }
        poller.remove(descriptor)
        entries[index].watcher = nil
        entries[index].generation &+= 1
    }

    /// Returns the watcher of an event's socket, and stores whether the peer has closed; `nil` if the registration has
    /// ended.
    mutating func receiver(
        of readiness: SocketReadiness, tag: UInt64
    ) -> (descriptor: Int32, watcher: any SocketWatcher)? {
        let descriptor = Int32(truncatingIfNeeded: tag & 0xFFFF_FFFF)
        let index = Int(descriptor)
        guard index < entries.count, entries[index].generation == UInt32(tag >> 32),
            let watcher = entries[index].watcher
        else { return nil }
        if readiness.tellsOfEnd { entries[index].hasPeerClosed = true }
        return (descriptor, watcher)
    }

    /// A number that is above all registered descriptors.
    var descriptorLimit: Int32 { Int32(entries.count) }

    /// The watcher of a descriptor; `nil` if the descriptor is not registered.
    func watcher(of descriptor: Int32) -> (any SocketWatcher)? { entries[Int(descriptor)].watcher }

    private func tag(of descriptor: Int32) -> UInt64 {
        UInt64(entries[Int(descriptor)].generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
    }
}
