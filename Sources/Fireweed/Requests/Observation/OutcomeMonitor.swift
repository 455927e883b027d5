// Monitors that report the outcome of attempts.

/// A monitor of the library whose `request(_:didCompleteTask:with:)` gets the request's error, including a validator's;
/// other monitors get only the error of the task, as with Alamofire.
protocol OutcomeMonitor: EventMonitor {}

extension LoggingMonitor: OutcomeMonitor {}
