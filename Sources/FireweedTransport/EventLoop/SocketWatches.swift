// Which sockets a loop watches, for whom, and what epoll has been told of it.

import CLinux

/// What a socket is ready for, or watched for.
struct SocketReadiness: OptionSet {
    let rawValue: UInt32

    static let readable = SocketReadiness(rawValue: EPOLLIN.rawValue)
    static let writable = SocketReadiness(rawValue: EPOLLOUT.rawValue)
    static let failed = SocketReadiness(rawValue: EPOLLERR.rawValue | EPOLLHUP.rawValue)
    /// The peer sends nothing more; bytes that came before may still be unread.
    static let peerClosed = SocketReadiness(rawValue: EPOLLRDHUP.rawValue)
    /// Whatever happens is told once, when it happens (edge-triggered, epoll(7)).
    static let edges = SocketReadiness(
        rawValue: EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue)
}

/// Takes the readiness of sockets; called on the loop's thread.
protocol SocketWatcher: AnyObject {
    func socket(_ descriptor: Int32, isReady readiness: SocketReadiness)
}

/// The table of watched sockets, indexed by descriptor.
///
/// libcurl changes its interest in a socket two or three times a request. Changes are therefore only noted here, and
/// told to epoll once, before the loop sleeps; most cancel out. A socket that nobody is interested in any more stays
/// registered for reading until an event arrives on it: a kept-alive connection then costs no system call between two
/// requests.
struct SocketWatches {
    private struct Watch {
        var wanted: SocketReadiness = []
        var registered: SocketReadiness = []
        /// Told apart from `registered`, which may be empty for a registered socket.
        var isRegistered = false
        /// Grows each time the descriptor's number is used again; events of an older generation are dropped.
        var generation: UInt32 = 0
        /// True when we see its close, so that a registration may outlive the interest in it.
        var isOwned = false
        var isChanged = false
        var watcher: (any SocketWatcher)?
    }

    private let poller: Poller
    private var watches: [Watch] = []
    private var changed: [Int32] = []

    init(poller: Poller) {
        self.poller = poller
    }

    /// Notes that this descriptor was just opened, and that `didClose` will be called for it.
    ///
    /// libcurl 7.88 closes a socket whose connection never came about without telling anyone, and does not repeat its
    /// interest when the number comes again: what epoll knew went with the old socket, and what libcurl wants stays.
    mutating func didOpen(_ descriptor: Int32) {
        makeRoom(for: descriptor)
        let index = Int(descriptor)
        watches[index].isOwned = true
        watches[index].isRegistered = false
        watches[index].registered = []
        watches[index].generation &+= 1
        if !watches[index].wanted.isEmpty, !watches[index].isChanged {
            watches[index].isChanged = true
            changed.append(descriptor)
        }
    }

    /// Forgets a descriptor; to be called just before it is closed.
    mutating func willClose(_ descriptor: Int32) {
        makeRoom(for: descriptor)
        drop(descriptor)
        watches[Int(descriptor)].isOwned = false
    }

    /// Forgets all that `watcher` waits for.
    ///
    /// To be called when all its sockets are closed. Those that libcurl 7.88 closes without a word would keep it until
    /// their numbers are used again.
    mutating func forgetAll(of watcher: any SocketWatcher) {
        for index in watches.indices where watches[index].watcher === watcher { drop(Int32(index)) }
    }

    /// Sets what `watcher` waits for; empty ends the watch.
    mutating func set(_ readiness: SocketReadiness, of descriptor: Int32, for watcher: any SocketWatcher) {
        makeRoom(for: descriptor)
        let index = Int(descriptor)
        watches[index].wanted = readiness
        watches[index].watcher = watcher
        if readiness.isEmpty && !watches[index].isOwned {
            drop(descriptor)
        } else if !watches[index].isChanged {
            watches[index].isChanged = true
            changed.append(descriptor)
        }
    }

    /// Registers a new descriptor, once, for everything that happens on it; `willClose` ends it.
    ///
    /// The watcher remembers what the socket is ready for until a call to it says otherwise, so that neither pausing
    /// nor going on costs a system call.
    mutating func watchEdges(of descriptor: Int32, for watcher: any SocketWatcher) {
        makeRoom(for: descriptor)
        drop(descriptor)
        let index = Int(descriptor)
        watches[index].isOwned = true
        watches[index].wanted = .edges
        watches[index].registered = .edges
        watches[index].isRegistered = true
        watches[index].watcher = watcher
        poller.add(descriptor, events: SocketReadiness.edges.rawValue, tag: tag(of: descriptor))
    }

    /// Gives a descriptor that is registered for its edges to another watcher.
    mutating func hand(_ descriptor: Int32, to watcher: any SocketWatcher) {
        watches[Int(descriptor)].watcher = watcher
    }

    /// Tells epoll what has changed since the last call.
    mutating func flush() {
        guard !changed.isEmpty else { return }
        for descriptor in changed {
            let index = Int(descriptor)
            watches[index].isChanged = false
            let watch = watches[index]
            guard watch.watcher != nil else { continue }
            // Nobody waits: keep the registration, though never for writing, which would be ready at once.
            let target = watch.wanted.isEmpty ? watch.registered.intersection(.readable) : watch.wanted
            if !watch.isRegistered {
                guard !target.isEmpty else { continue }
                poller.add(descriptor, events: target.rawValue, tag: tag(of: descriptor))
            } else if target != watch.registered {
                poller.modify(descriptor, events: target.rawValue, tag: tag(of: descriptor))
            }
            watches[index].isRegistered = true
            watches[index].registered = target
        }
        changed.removeAll(keepingCapacity: true)
    }

    /// Who waits for this event, if it is of the present generation and somebody does.
    mutating func receiver(of tag: UInt64) -> (descriptor: Int32, watcher: any SocketWatcher)? {
        let descriptor = Int32(truncatingIfNeeded: tag & 0xFFFF_FFFF)
        let index = Int(descriptor)
        guard index < watches.count, watches[index].generation == UInt32(tag >> 32) else { return nil }
        guard let watcher = watches[index].watcher, !watches[index].wanted.isEmpty else {
            drop(descriptor)  // an idle connection was closed by its peer; level-triggered, it would be told for ever
            return nil
        }
        return (descriptor, watcher)
    }

    private mutating func drop(_ descriptor: Int32) {
        let index = Int(descriptor)
        if watches[index].isRegistered { poller.remove(descriptor) }
        watches[index].wanted = []
        watches[index].registered = []
        watches[index].isRegistered = false
        watches[index].generation &+= 1
        watches[index].watcher = nil
    }

    private func tag(of descriptor: Int32) -> UInt64 {
        UInt64(watches[Int(descriptor)].generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
    }

    private mutating func makeRoom(for descriptor: Int32) {
        let missing = Int(descriptor) + 1 - watches.count
        if missing > 0 { watches.append(contentsOf: repeatElement(Watch(), count: max(missing, 64))) }
    }
}
