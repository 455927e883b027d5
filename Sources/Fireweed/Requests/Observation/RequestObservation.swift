// Observation of one request without a monitor.

import FireweedTransport
package import Foundation

/// Receives the events of one request, for a log.
///
/// Unlike an ``EventMonitor``, an observer is stored as a value of the request and is called on the thread of the
/// event. Properties of an event are computed only when they are read. Events of one request come in order. No method
/// may block.
package protocol RequestObserver: Sendable {
    func request(_ request: Request, didMeet event: RequestObservation.Event)
}

/// The key under which a request stores its observer as a value.
package enum RequestObservation: RequestValueKey {
    package typealias Value = any RequestObserver

    /// An event of which an observer is notified.
    package enum Event: Sendable {
        /// An attempt ended, and its response was validated; never delivered on the transport's thread.
        case attemptEnded(AttemptSummary)
        /// The request, or its next attempt, was not sent: its `URLRequest` could not be made or adapted, or the
        /// request was cancelled, its deadline came, or its session ended before.
        case notSent(AFError)
        /// The request is retried: another attempt follows.
        case retries
        /// The request waits for a rate limit, for about this long.
        case waitsForRateLimit(Duration)
        /// The request waits for a route to its host.
        case waitsForConnectivity
    }
}

/// The outcome of an attempt; each property is computed when it is read.
package struct AttemptSummary: Sendable {
    private let attempt: Attempt
    private let request: Request

    init(of attempt: Attempt, for request: Request) {
        self.attempt = attempt
        self.request = request
    }

    /// The number of the attempt: 0 for the first one.
    package var number: Int { attempt.demands.attemptNumber }
    /// The number of the request's messages that were sent before this attempt's last message, including earlier
    /// attempts.
    package var resendCount: Int { max(0, request.attempts.reduce(0) { $0 + $1.sentMessageCount } - 1) }
    /// The method of the attempt's first message.
    package var method: String { attempt.record.method }
    /// The URL of the attempt's first message.
    package var url: URL { attempt.record.url }
    /// The status of the response; `nil` when none came.
    package var statusCode: Int? { attempt.statusCode }
    /// The metrics of the attempt's exchanges; `nil` when there are none.
    package var metrics: TaskMetrics? { attempt.metrics }
    /// The error that prevented a complete response, such as the end of the session; `nil` after a complete response of
    /// any status.
    package var failure: AFError? {
        guard let error = attempt.error else { return nil }
        if let outcome = request.error, outcome.isSessionInvalidatedError { return outcome }
        return error.asAFError(or: .sessionTaskFailed(error: error))
    }
}
