// The behaviour of the interceptor of a request or a session.

import FireweedTesting

/// How requests are adapted and retried.
struct Interception: Sendable, CustomStringConvertible {
    var adapting = Answering.atOnce
    var retrying = Answering.atOnce
    /// Whether the adapter fails.
    var refusesToAdapt = false
    /// How often the retrier wants to try again.
    var retryLimit = 0
    /// Microseconds before the next try.
    var retryDelay = 0
    /// Whether the retrier ends with an error of its own when it does not want to try again.
    var failsInRetry = false

    var description: String {
        let adapter = "adapter \(refusesToAdapt ? "refuses " : "")\(adapting)"
        return "\(adapter), retrier \(retrying) up to \(retryLimit)\(failsInRetry ? ", then fails" : "")"
    }

    static func random(_ random: inout SeededGenerator) -> Interception {
        Interception(
            adapting: .random(&random), retrying: .random(&random), refusesToAdapt: random.happens(4),
            retryLimit: random.choice(0, 1, 1, 2), retryDelay: random.choice(0, 100, 3_000),
            failsInRetry: random.happens(8))
    }
}
