// Ends the calls of libcurl that do not end by themselves.

import CLinux
import Dispatch
import Glibc
import Synchronization

/// Closes the socket that keeps a loop inside one call of libcurl.
///
/// libcurl 7.88 reads frames of HTTP/2 for as long as there are some, in one call: a server that floods us with them
/// would keep the loop for ever. Over TLS a `RecordGauge` is told of every record. In clear text nothing of ours is
/// called meanwhile, and only another thread can do something: this looks at the processor time that the call has used
/// so far.
final class ReadingWatchdog: Sendable {
    private struct State {
        var sockets: [Watched] = []
        /// The call that is going on, if any.
        var call: Call?
        /// The local port of the socket that was closed during the call; 0 for none.
        var closedPort = 0

        mutating func sample() {
            call?.isSampled = true
            for index in sockets.indices { sockets[index].sample += sockets[index].growth }
        }
    }

    private struct Call {
        /// The loop thread's processor clock.
        let clock: clockid_t
        let start: LoopInstant
        /// Whether what the sockets had received was noted, since the call looked suspicious.
        var isSampled = false
    }

    private struct Watched {
        let socket: OpenedSocket
        /// The bytes that it had received when it was looked at.
        var sample: Int64 = 0

        var growth: Int64 { FramingWatch.receivedByteCount(of: socket.descriptor) - sample }
    }

    /// So much processor time makes a call suspicious, in nanoseconds; the same again, and it is ended.
    private static let patience: LoopInstant = 250_000_000
    private static let period = DispatchTimeInterval.milliseconds(50)

    private let state = Mutex(State())
    // SAFETY: made here and cancelled in `deinit`; Dispatch's objects are safe from every thread.
    private nonisolated(unsafe) let timer: any DispatchSourceTimer

    init() {
        timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "fireweed.watchdog", qos: .userInitiated))
        timer.schedule(deadline: .now() + Self.period, repeating: Self.period, leeway: Self.period)
        timer.setEventHandler { [weak self] in self?.look() }
        timer.resume()
    }

    deinit {
        timer.cancel()
    }

    // MARK: On the loop's thread

    func didOpen(_ socket: OpenedSocket) {
        willClose(socket.descriptor)  // libcurl closes some sockets without a word: see `SocketWatches`
        state.withLock { $0.sockets.append(Watched(socket: socket)) }
    }

    func willClose(_ descriptor: Int32) {
        state.withLock { $0.sockets.removeAll { $0.socket.descriptor == descriptor } }
    }

    func callBegins() {
        var clock = clockid_t()
        guard pthread_getcpuclockid(pthread_self(), &clock) == 0 else { return }
        let call = Call(clock: clock, start: fw_clock_nanoseconds(clock))
        state.withLock { $0.call = call }
    }

    /// The local port of the socket that had to be closed to end the call; 0 for none.
    func callEnded() -> Int {
        state.withLock { state in
            defer { state.closedPort = 0 }
            state.call = nil
            return state.closedPort
        }
    }

    // MARK: On the watchdog's queue

    private func look() {
        state.withLock { state in
            guard let call = state.call else { return }
            let used = fw_clock_nanoseconds(call.clock) &- call.start
            guard used > Self.patience else { return }
            guard call.isSampled else { return state.sample() }
            guard used > 2 * Self.patience,
                let busiest = state.sockets.max(by: { $0.growth < $1.growth }), busiest.growth > 0,
                busiest.socket.isOpen
            else { return }
            let descriptor = busiest.socket.descriptor
            state.closedPort = LocalPort.of(descriptor)
            // More of the peer's bytes now reset the connection (RFC 1122 §4.2.2.13), and libcurl's reading ends.
            shutdown(descriptor, Shutdown.both)
            state.sample()  // there may be another such
        }
    }
}
