// Monitors that report the outcome of attempts.

/// A monitor of the library whose `request(_:didCompleteTask:with:)` gets the error of the attempt, with the one of a
/// validator; other monitors get the error of the task alone, as with Alamofire.
protocol OutcomeMonitor: EventMonitor {}

extension LoggingMonitor: OutcomeMonitor {}
