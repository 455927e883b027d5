// The descriptors of a server.

import Glibc
import Synchronization

/// Shuts down and closes descriptors under one lock.
///
/// The number of a closed descriptor belongs to somebody else soon, so that it must not be shut down after that. The
/// threads of the connections keep this object longer than the server lives.
final class ServerDescriptors: Sendable {
    private struct State {
        var isStopping = false
        var listener: Int32?
        var connections: Set<Int32> = []

        func shutDownConnections() {
            for descriptor in connections { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private let state: Mutex<State>

    init(listener: Int32) {
        state = Mutex(State(listener: listener))
    }

    var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Adds a connection; false when the server has stopped.
    func add(_ descriptor: Int32) -> Bool {
        state.withLock { state in
            if !state.isStopping { state.connections.insert(descriptor) }
            return !state.isStopping
        }
    }

    /// Closes a connection.
    func close(_ descriptor: Int32) {
        state.withLock { state in
            guard state.connections.remove(descriptor) != nil else { return }
            _ = Glibc.close(descriptor)
        }
    }

    func closeListener() {
        state.withLock { state in
            guard let listener = state.listener.take() else { return }
            _ = Glibc.close(listener)
        }
    }

    func shutDownConnections() { state.withLock { $0.shutDownConnections() } }

    /// Shuts down everything, which wakes the threads that wait; they close what is theirs.
    func stop() {
        state.withLock { state in
            guard !state.isStopping else { return }
            state.isStopping = true
            state.shutDownConnections()
            if let listener = state.listener { shutdown(listener, Int32(SHUT_RDWR)) }
        }
    }
}
