// A relay whose connections can be frozen, as if a router on the way had forgotten them.

import FireweedTesting
public import Foundation
import Glibc
import Synchronization

/// Relays TCP connections from its own port to another loopback port, until they are frozen.
///
/// A frozen connection stays open and accepts bytes, but drops them. Later connections are relayed.
public final class FreezingRelay: Sendable {
    private struct State {
        var connectionCount = 0
        /// The number of the first connection that is not frozen.
        var firstRelayed = 0
    }

    /// The port.
    public let port: UInt16
    /// The log of ended connections, by their number from 0.
    public let closings = EventLog<Int>()
    private let descriptors: ServerDescriptors
    private let state = Mutex(State())

    /// How many connections were accepted.
    public var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// Starts a relay to a port of 127.0.0.1.
    public init(to target: UInt16) throws {
        let (listener, port) = try ServerSocket.listen()
        self.port = port
        descriptors = ServerDescriptors(listener: listener)
        descriptors.accept { [weak self] client in
            guard let number = self?.takeConnection() else { return nil }
            return { [weak self] in
                if let peer = ServerSocket.connect(to: target) {
                    SocketRelay.run(client, peer) { self?.isFrozen(number) ?? false }
                    close(peer)
                }
                self?.closings.note(number)
            }
        }
    }

    deinit { stop() }

    /// Freezes the connections that are open now.
    public func freeze() {
        state.withLock { $0.firstRelayed = $0.connectionCount }
    }

    /// Returns the URL with its port replaced by the relay's port.
    public func url(for url: URL) -> URL {
        var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        components?.port = Int(port)
        return components?.url ?? url
    }

    /// Closes all connections and accepts no more.
    public func stop() { descriptors.stop() }

    private func takeConnection() -> Int {
        state.withLock { state in
            state.connectionCount += 1
            return state.connectionCount - 1
        }
    }

    private func isFrozen(_ number: Int) -> Bool {
        state.withLock { number < $0.firstRelayed }
    }
}
