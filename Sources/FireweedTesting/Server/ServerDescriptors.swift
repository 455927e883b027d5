// The descriptors of a server.

import Foundation
import Glibc
import Synchronization

/// Accepts connections, and shuts down and closes their descriptors under one lock.
///
/// The number of a closed descriptor belongs to somebody else soon, so that it must not be shut down after that. The
/// threads of the connections keep this object longer than the server lives.
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

    /// Owns a socket that listens.
    package init(listener: Int32) {
        state = Mutex(State(listener: listener))
    }

    /// Accepts connections on a thread of its own, until the server stops.
    ///
    /// `adopt` is called on that thread. What it returns serves the connection on a thread of the connection, which
    /// is closed after that; `nil` is a server that is gone.
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

    /// The next connection; `nil` when there will be no more.
    private func next(from listener: Int32) -> Int32? {
        while true {
            let descriptor = Glibc.accept(listener, nil, nil)
            guard descriptor < 0 else { return add(descriptor) ? descriptor : nil }
            let code = errno
            guard !isStopping, Self.canAcceptAgain(after: code) else { return nil }
        }
    }

    /// Whether an error of accept(2) is one of a single connection, or of a time when resources are short.
    private static func canAcceptAgain(after code: Int32) -> Bool {
        switch code {
        case ECONNABORTED, EINTR, EPROTO: return true
        case EMFILE, ENFILE, ENOMEM, ENOBUFS:
            // The client stays in the queue: accept would fail again and again until something is free.
            Thread.sleep(forTimeInterval: 0.02)
            return true
        default: return false
        }
    }

    private var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Adds a connection; one that came while the server stops is closed.
    private func add(_ descriptor: Int32) -> Bool {
        // A process that a test starts would keep the connection open. Glibc's module has no accept4.
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

    /// Shuts down everything, which wakes the threads that wait; they close what is theirs.
    package func stop() { stopListening { $0.shutDownConnections() } }

    /// Accepts no further connection; those that are open go on.
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
