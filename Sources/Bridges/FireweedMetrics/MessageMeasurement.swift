// The measurement of one message.

#if SwiftMetrics
import CoreMetrics
import FireweedTransport

/// Measures one message, from its start to its end.
final class MessageMeasurement: TransferObserver, @unchecked Sendable {
    private let instruments: MessageInstruments
    private let clock: any SessionClock
    // SAFETY: the thread that starts the transfer sets the variables, before the wrapped transport makes its own
    // transfer; afterwards only that transfer's callbacks use them, which never overlap.
    private var target: MessageTarget?
    private var start: UInt64 = 0
    private var isWebSocket = false
    private var outcome = MessageOutcome()

    init(_ instruments: MessageInstruments, clock: any SessionClock) {
        self.instruments = instruments
        self.clock = clock
    }

    func transferWillStart(_ message: inout RequestMessage) -> TransferFailure? {
        let target = instruments.target(of: message)
        self.target = target
        isWebSocket = message.webSocket != nil
        start = clock.monotonicNanoseconds
        target.active?.increment(by: 1)
        return nil
    }

    func transferDidReceive(_ head: ResponseHead) {
        outcome.setStatus(head.status)
        outcome.version = head.protocolVersion ?? ""
        // After its handshake, a WebSocket is not an HTTP exchange.
        if isWebSocket, head.status == 101 { end(nil) }
    }

    func transferDidFinish(_ end: borrowing TransferEnd, failure: TransferFailure?) {
        if let failure { outcome.fail(with: failure) }
        self.end(end.report)
    }

    /// Records the end; `report` is `nil` at the end of a WebSocket's handshake.
    private func end(_ report: TransferReport?) {
        guard let target else { return }
        self.target = nil
        target.active?.decrement(by: 1)
        let series = instruments.series(of: target, outcome)
        let now = clock.monotonicNanoseconds
        series.duration?.recordNanoseconds(Int64(clamping: now > start ? now - start : 0))
        guard let report else { return }
        series.requestSize?.record(report.requestBodyByteCount)
        series.responseSize?.record(report.responseBodyByteCount)
        let waited = report.isUnassigned ? report.total : max(0, report.waited)
        target.wait?.recordNanoseconds(waited * 1000)
    }
}

/// The outcome of a message, as values of labels.
struct MessageOutcome: Hashable, Sendable {
    /// The status; 0 without a response, 600 for every invalid one (RFC 9110 §15).
    private var status = 0
    var version = ""
    private var failure = ""

    /// Notes the status of the response.
    mutating func setStatus(_ status: Int) { self.status = (100...599).contains(status) ? status : 600 }

    /// Notes why the transfer failed; a cancellation by the caller is not noted.
    mutating func fail(with failure: TransferFailure) { self.failure = failure.word ?? "" }

    /// The value of `error.type`; empty for none.
    var errorType: String { failure.isEmpty && status >= 400 ? statusText : failure }

    /// The status as a label; empty without a response, `_OTHER` for an invalid one.
    var statusText: String {
        switch status {
        case 0: ""
        case 600: MessageInstruments.other
        default: String(status)
        }
    }
}
#endif
