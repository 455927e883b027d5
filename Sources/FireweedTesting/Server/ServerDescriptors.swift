// The descriptors of a server.

import Foundation
import Glibc
import Synchronization

/// Accepts connections, and shuts down and closes their descriptors under one lock.
///
/// The number of a closed descriptor may be reused at once, so it must not be shut down afterwards. The threads of the
/// connections keep this object, so it can outlive the server.
package final class ServerDescriptors: Sendable {
    private struct State {
        var isStopping = false
        var listener: Int32?
        var connections: Set<Int32> = []

        func shutDownConnections() {
            for descriptor in connections { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    private let state: Mutex<State>

    /// Takes ownership of a listening socket.
    package init(listener: Int32) {
        state = Mutex(State(listener: listener))
    }

    /// Accepts connections on a thread of its own, until the server stops.
    ///
    /// `adopt` is called on that thread. It returns a closure that serves the connection, or `nil` when the server is
    /// gone. The closure runs on a separate thread, which then closes the connection.
    package func accept(_ adopt: @escaping @Sendable (_ descriptor: Int32) -> (@Sendable () -> Void)?) {
        guard let listener = state.withLock({ $0.listener }) else { return }
        Thread { [self] in
            while let descriptor = next(from: listener) {
                guard let serve = adopt(descriptor) else {
                    close(descriptor)
                    break
                }
                Thread { [self] in
                    serve()
                    close(descriptor)
                }.start()
            }
            closeListener()
        }.start()
    }

    /// Waits for the next connection; `nil` when no more connections will be accepted.
    private func next(from listener: Int32) -> Int32? {
        while true {
            let descriptor = Glibc.accept(listener, nil, nil)
            guard descriptor < 0 else { return add(descriptor) ? descriptor : nil }
            let code = errno
            guard !isStopping, Self.canAcceptAgain(after: code) else { return nil }
        }
    }

    /// Whether accept(2) can be called again: after an error of one connection, or, once this call has waited 20 ms,
    /// after a lack of resources.
    private static func canAcceptAgain(after code: Int32) -> Bool {
        switch code {
        case ECONNABORTED, EINTR, EPROTO: return true
        case EMFILE, ENFILE, ENOMEM, ENOBUFS:
            // The connection stays in the queue: without a pause, accept would fail in a busy loop.
            Thread.sleep(forTimeInterval: 0.02)
            return true
        default: return false
        }
    }

    private var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Adds a connection; closes it, and returns false, when the server is stopping.
    private func add(_ descriptor: Int32) -> Bool {
        // A child process of a test that inherited the descriptor would keep the connection open. Swift's Glibc module
        // has no accept4(2), which would set the flag at once.
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return state.withLock { state in
            if state.isStopping {
                _ = Glibc.close(descriptor)
            } else {
                state.connections.insert(descriptor)
            }
            return !state.isStopping
        }
    }

    private func close(_ descriptor: Int32) {
        state.withLock { state in
            guard state.connections.remove(descriptor) != nil else { return }
            _ = Glibc.close(descriptor)
        }
    }

    private func closeListener() {
        state.withLock { state in
            guard let listener = state.listener.take() else { return }
            _ = Glibc.close(listener)
        }
    }

    /// Shuts down every connection; new ones are accepted.
    package func shutDownConnections() { state.withLock { $0.shutDownConnections() } }

    /// Shuts down everything, which wakes the waiting threads; they close their descriptors.
    package func stop() { stopListening { $0.shutDownConnections() } }

    /// Accepts no further connections; the open ones continue.
    package func stopListening() { stopListening { _ in } }

    private func stopListening(_ then: (State) -> Void) {
        state.withLock { state in
            guard !state.isStopping else { return }
            state.isStopping = true
            if let listener = state.listener { shutdown(listener, Int32(SHUT_RDWR)) }
            then(state)
        }
    }
}
