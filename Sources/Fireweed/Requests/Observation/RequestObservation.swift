// Observation of one request without a monitor.

import FireweedTransport
package import Foundation

/// Is notified of what a log says about a request.
///
/// Unlike an ``EventMonitor`` it is a value of the request, gets its events on the thread of the event, and costs
/// nothing that it does not ask for. Events of one request come in order. No method may wait.
package protocol RequestObserver: Sendable {
    func request(_ request: Request, didMeet event: RequestObservation.Event)
}

/// The key of a request's observer, which the request has as a value.
package enum RequestObservation: RequestValueKey {
    package typealias Value = any RequestObserver

    /// What an observer is notified of.
    package enum Event: Sendable {
        /// An attempt ended, and its response was validated; not on the transport's thread.
        case attemptEnded(AttemptSummary)
        /// The request, or its next attempt, was not sent: its `URLRequest` could not be made or adapted, or its
        /// session ended before.
        case notSent(AFError)
        /// The last attempt is followed by another one.
        case retries
        /// The request waits for a rate limit, for about this long.
        case waitsForRateLimit(Duration)
        /// The request waits for a route to its host.
        case waitsForConnectivity
    }
}

/// What became of an attempt; what is not asked for is not made.
package struct AttemptSummary: Sendable {
    private let attempt: Attempt
    private let request: Request

    init(of attempt: Attempt, for request: Request) {
        self.attempt = attempt
        self.request = request
    }

    /// The number of the attempt: 0 for the first one.
    package var number: Int { attempt.demands.attemptNumber }
    /// The messages of the request that were sent before the last one of this attempt, those of earlier attempts too.
    package var resendCount: Int { max(0, request.attempts.reduce(0) { $0 + $1.sentMessageCount } - 1) }
    /// The method of the attempt's first message.
    package var method: String { attempt.record.method }
    /// The URL of the attempt's first message.
    package var url: URL { attempt.record.url }
    /// The status of the response; `nil` when none came.
    package var statusCode: Int? { attempt.statusCode }
    /// The metrics of its exchanges; `nil` without any.
    package var metrics: TaskMetrics? { attempt.metrics }
    /// Why no whole response came, which may be the end of the session; `nil` when one came, whatever its status.
    package var failure: AFError? {
        guard let error = attempt.error else { return nil }
        if let outcome = request.error, outcome.isSessionInvalidatedError { return outcome }
        return error.asAFError(or: .sessionTaskFailed(error: error))
    }
}
