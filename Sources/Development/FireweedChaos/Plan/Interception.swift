// The behaviour of the interceptor of a request or a session.

import FireweedTesting

/// The planned behaviour of an adapter and a retrier.
struct Interception: Sendable, CustomStringConvertible {
    var adapting = Answering.atOnce
    var retrying = Answering.atOnce
    /// Whether the adapter fails.
    var refusesToAdapt = false
    /// The number of retries that the retrier asks for.
    var retryLimit = 0
    /// The delay before a retry, in microseconds.
    var retryDelay = 0
    /// Whether the retrier fails with its own error when it asks for no further retry.
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
