// The measurement of one message.

#if SwiftMetrics
import CoreMetrics
import FireweedTransport

/// Measures one message, from its start to its end.
struct MessageMeasurement: TransferObserver {
    private let instruments: MessageInstruments
    private var target: MessageTarget?
    private var start: UInt64 = 0
    private var isWebSocket = false
    private var outcome = MessageOutcome()

    init(_ instruments: MessageInstruments) {
        self.instruments = instruments
    }

    mutating func transferWillStart(_ message: inout RequestMessage) -> TransferFailure? {
        let target = instruments.target(of: message)
        self.target = target
        isWebSocket = message.webSocket != nil
        start = instruments.clock.monotonicNanoseconds
        target.active?.increment(by: 1)
        return nil
    }

    mutating func transferDidReceive(_ head: ResponseHead) {
        outcome.setStatus(head.status)
        outcome.version = head.protocolVersion ?? ""
        // After its handshake, a WebSocket is not an HTTP exchange.
        if isWebSocket, head.status == 101 { _ = recordDuration() }
    }

    mutating func transferDidFinish(_ end: borrowing TransferEnd, failure: TransferFailure?) {
        if let failure { outcome.fail(with: failure) }
        guard let (target, series) = recordDuration() else { return }
        series.requestSize?.record(end.report.requestBodyByteCount)
        series.responseSize?.record(end.report.responseBodyByteCount)
        let waited = end.report.isUnassigned ? end.report.total : max(0, end.report.waited)
        target.wait?.recordNanoseconds(waited * 1000)
    }

    /// Records how long the message took, once; returns the instruments, or `nil` when that was done before.
    private mutating func recordDuration() -> (target: MessageTarget, series: MessageSeries)? {
        guard let target else { return nil }
        self.target = nil
        target.active?.decrement(by: 1)
        let series = instruments.series(of: target, outcome)
        let now = instruments.clock.monotonicNanoseconds
        series.duration?.recordNanoseconds(Int64(clamping: now > start ? now - start : 0))
        return (target, series)
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
