// One exchange that a `URLProtocol` performs.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// Performs an exchange with a `URLProtocol`, instead of a transport.
///
/// The protocol is made, started and stopped on the `ProtocolThread`, and reports from any thread. The attempt
/// gets its reports on a queue of this transfer. A protocol cannot be slowed down: while the request is suspended or
/// its consumer is full, the protocol's reports wait in memory.
final class ProtocolTransfer: Sendable {
    enum Phase {
        case ready
        /// The transfer was started while the request was suspended: the protocol starts when the request is resumed.
        case held
        /// The protocol starts, or has started.
        case loading
    }

    struct State {
        var phase = Phase.ready
        var inbox = ProtocolInbox()
        /// The protocol, from its start to its stop.
        var loader: ProtocolReference?
        var host: (any ProtocolHost)?
        /// The latest decision about which bytes may move.
        var flow = Flow.undecided
        var isCancelled = false
        /// The time of the protocol's last report, on the session's monotonic clock.
        var activityNanoseconds: UInt64 = 0
        var report: TransferReport
    }

    /// The exchange to perform, with its time limits.
    struct Order: Sendable {
        let type: URLProtocol.Type
        /// The request, as `type.canonicalRequest(for:)` returned it.
        let request: URLRequest
        let cachedResponse: CachedURLResponse?
        /// The longest time without a report of the protocol, in seconds; zero or less, and 1e9 or more, mean no limit.
        let idleTimeout: TimeInterval
        /// The deadline of the exchange, in nanoseconds of `clock`; `nil` for none.
        let deadlineNanoseconds: UInt64?
        /// Whether the consumer needs calls of `transferDidCompleteRead`.
        let wantsReadComplete: Bool
        /// The session's clock.
        let clock: any SessionClock
    }

    /// The most bytes that are offered to the consumer in one call; the consumer can stop the content between two
    /// calls.
    private static let pieceSize = 64 * 1024

    private let order: Order
    private let startNanoseconds: UInt64
    private let queue = DispatchQueue(label: "fireweed.urlprotocol")
    private let state: Mutex<State>

    init(_ order: Order, for host: any ProtocolHost) {
        self.order = order
        var report = TransferReport()
        report.startNanoseconds = order.clock.now.nanosecondsSince1970
        startNanoseconds = order.clock.monotonicNanoseconds
        self.state = Mutex(State(host: host, report: report))
    }

    // MARK: The protocol's side

    /// Makes and starts the protocol; on the `ProtocolThread`.
    private func load() {
        guard let host = state.withLock({ $0.inbox.isOpen ? $0.host : nil }) else { return }
        let loader = host.offering(ProtocolOffer(request: order.request, isAccepted: true)) { task in
            order.type.init(task: task, cachedResponse: order.cachedResponse, client: ProtocolClient(self))
        }
        let reference = ProtocolReference(loader)
        let starts = state.withLock { state in
            guard state.inbox.isOpen else { return false }
            state.loader = reference
            state.activityNanoseconds = now
            state.report.requestStart = elapsedMicroseconds(state)
            return true
        }
        guard starts else { return }
        queue.async { self.watchTime() }
        loader.startLoading()
    }

    /// Stops the protocol once, and releases it, on the `ProtocolThread`.
    private func stop() {
        // A read of the content may block the `ProtocolThread`; the interruption ends that read.
        (order.request.httpBodyStream as? BodyInputStream)?.interrupt()
        ProtocolThread.shared.perform { [self] in
            state.withLock { $0.loader.take() }?.value.stopLoading()
        }
    }

    /// Adds a report of the protocol.
    func take(_ report: ProtocolInbox.Report) {
        take { $0.add(report) }
    }

    /// Adds reports of the protocol.
    func take(_ add: (inout ProtocolInbox) -> Bool) {
        let isOver = state.withLock { state in
            state.activityNanoseconds = now
            return add(&state.inbox)
        }
        queue.async { self.deliver() }
        if isOver { stop() }
    }

    /// Answers a challenge of the protocol, unless the exchange is over.
    func answer(_ challenge: URLAuthenticationChallenge) {
        let host = state.withLock { state in
            state.activityNanoseconds = now
            return state.inbox.isOpen ? state.host : nil
        }
        guard let host else { return }
        let shown = SendableChallenge(challenge)
        ProtocolThread.shared.perform { host.answer(shown) }
    }

    /// Ends the exchange when the protocol has been silent for too long, or the exchange takes too long; on the queue.
    private func watchTime() {
        let now = self.now
        let due = state.withLock { state -> UInt64? in
            guard state.inbox.isOpen else { return nil }
            if state.flow.level == .suspended { state.activityNanoseconds = now }
            var due = order.deadlineNanoseconds
            if order.idleTimeout > 0, order.idleTimeout < 1e9 {
                due = min(due ?? .max, state.activityNanoseconds + UInt64(order.idleTimeout * 1e9))
            }
            return due
        }
        guard let due else { return }
        guard due <= now else {
            let rest = Duration.nanoseconds(Int64(min(due - now, 1 << 62)))
            order.clock.schedule(.limit, after: rest, on: queue) { [weak self] in self?.watchTime() }
            return
        }
        state.withLock { $0.inbox.close() }
        stop()
        end(.exchange(.timedOut, detail: "the URLProtocol took too long", engineCode: 0))
    }

    // MARK: The attempt's side

    /// Delivers the waiting reports to the attempt, until the flow stops them; on the queue.
    private func deliver() {
        while let (report, host) = nextReport() {
            switch report {
            case .response(let response, let origin):
                state.withLock { $0.report.responseStart = elapsedMicroseconds($0) }
                let flow = host.protocolDidReceive(response, origin)
                state.withLock { _ = $0.flow.follow(flow) }
            case .content(let data): offer(data, to: host)
            case .redirect(let request, let response):
                state.withLock { $0.report.responseStart = elapsedMicroseconds($0) }
                host.protocolDidRedirect(to: request, response)
                end(nil)
            case .end(let failure): end(failure)
            }
        }
        if order.wantsReadComplete { state.withLock { $0.host }?.transferDidCompleteRead() }
    }

    private func nextReport() -> (ProtocolInbox.Report, any ProtocolHost)? {
        state.withLock { state in
            guard let host = state.host else { return nil }
            if state.isCancelled { return (.end(.cancelled), host) }
            guard state.flow.level == .running else { return nil }
            return state.inbox.next().map { ($0, host) }
        }
    }

    /// Offers content piece by piece; when the flow stops, the rest of the content becomes the next report.
    private func offer(_ data: Data, to host: any ProtocolHost) {
        var rest = data
        while !rest.isEmpty {
            let piece = rest.prefix(Self.pieceSize)
            let flow = piece.withUnsafeBytes { host.transferDidReceive(ContentBytes($0)) }
            rest = rest.dropFirst(piece.count)
            let continues = state.withLock { [rest] state in
                _ = state.flow.follow(flow)
                state.report.responseDecodedByteCount += Int64(piece.count)
                guard state.flow.level == .running, !state.isCancelled else {
                    if !rest.isEmpty { state.inbox.putBack(.content(rest)) }
                    return false
                }
                return true
            }
            guard continues else { return }
        }
    }

    /// Notifies the attempt of the end; only the first call counts.
    private func end(_ failure: TransferFailure?) {
        let (host, report) = state.withLock { state in
            state.inbox.close()
            state.report.total = elapsedMicroseconds(state)
            defer { state.host = nil }
            return (state.host, state.report)
        }
        host?.transferDidFinish(TransferEnd(failure, report: report))
    }

    private var now: UInt64 { order.clock.monotonicNanoseconds }

    /// Microseconds since the exchange began, at least 1: in a report, 0 means that an event did not happen.
    private func elapsedMicroseconds(_ state: State) -> Int64 {
        max(1, Int64((max(now, startNanoseconds) - startNanoseconds) / 1000))
    }
}

extension ProtocolTransfer: TransferControl {
    func start(_ flow: Flow) {
        let loads = state.withLock { state in
            guard state.phase == .ready else { return false }
            _ = state.flow.follow(flow)
            state.phase = state.flow.level == .suspended ? .held : .loading
            return state.phase == .loading
        }
        if loads { ProtocolThread.shared.perform { self.load() } }
    }

    func cancel() {
        let wasOpen = state.withLock { state in
            state.isCancelled = true
            defer { state.inbox.close() }
            return state.inbox.isOpen
        }
        queue.async { self.deliver() }
        if wasOpen { stop() }
    }

    func discard() {
        // The transfer ends on the queue, after the deliveries that are already queued.
        queue.async { [self] in
            stop()
            end(nil)
        }
    }

    func setFlow(_ flow: Flow) {
        let loads = state.withLock { state in
            guard state.flow.follow(flow), state.flow.level != .suspended else { return false }
            state.activityNanoseconds = now
            guard state.phase == .held else { return false }
            state.phase = .loading
            return true
        }
        if loads { ProtocolThread.shared.perform { self.load() } }
        queue.async { self.deliver() }
    }
}

/// Keeps a `URLProtocol` in the state of its transfer.
struct ProtocolReference: @unchecked Sendable {
    // SAFETY: the transfer calls the protocol only on the `ProtocolThread`.
    let value: URLProtocol

    init(_ value: URLProtocol) {
        self.value = value
    }
}
