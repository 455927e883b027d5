// A relay whose connections can stand still, as they do when a router on the way forgets them.

public import Foundation
import Glibc
import Synchronization

/// Relays TCP connections on a loopback port to another, until they are frozen.
///
/// A frozen connection stays open and takes what is sent to it, but forwards nothing any more. Later connections are
/// relayed.
public final class FreezingRelay: Sendable {
    private struct State {
        var connectionCount = 0
        /// The connections before this one are frozen.
        var firstRelayed = 0
        var descriptors: Set<Int32> = []
        var isStopping = false
    }

    /// The port.
    public let port: UInt16
    /// A number for each connection that was closed by the client, counted from 0.
    public let closings = EventLog<Int>()
    private let listener: Int32
    private let state = Mutex(State())

    /// How many connections were accepted.
    public var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// Starts a relay to a port of 127.0.0.1.
    public init(to target: UInt16) throws {
        (listener, port) = try LoopbackSocket.listen(port: 0)
        Thread { [listener, weak self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0, let self, let number = self.adopt(client) else { break }
                Thread { [weak self] in
                    if let peer = LoopbackSocket.connect(to: target) {
                        SocketRelay.run(client, peer) { self?.isFrozen(number) ?? false }
                        close(peer)
                    }
                    self?.forget(client, number)
                    close(client)
                }.start()
            }
            close(listener)
        }.start()
    }

    deinit { stop() }

    /// Lets the connections that are open now forward nothing any more.
    public func freeze() {
        state.withLock { $0.firstRelayed = $0.connectionCount }
    }

    /// A URL with the relay's port in place of its own.
    public func url(for url: URL) -> URL {
        var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        components?.port = Int(port)
        return components?.url ?? url
    }

    /// Closes everything.
    public func stop() {
        let descriptors = state.withLock { state in
            state.isStopping = true
            return state.descriptors
        }
        for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func adopt(_ descriptor: Int32) -> Int? {
        let number = state.withLock { state -> Int? in
            guard !state.isStopping else { return nil }
            state.descriptors.insert(descriptor)
            state.connectionCount += 1
            return state.connectionCount - 1
        }
        if number == nil { close(descriptor) }
        return number
    }

    private func forget(_ descriptor: Int32, _ number: Int) {
        _ = state.withLock { $0.descriptors.remove(descriptor) }
        closings.note(number)
    }

    private func isFrozen(_ number: Int) -> Bool {
        state.withLock { number < $0.firstRelayed }
    }
}
