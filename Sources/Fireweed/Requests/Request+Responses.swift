// What the responses of all kinds of requests have in common.

import FireweedTransport
import Foundation
import Synchronization

extension Request {
    /// The exchange that responses show.
    var evidence: any ResponseEvidence {
        let (attempt, record) = mutable.withLock { ($0.attempts.last, $0.records.last) }
        return attempt ?? UnsentEvidence(record: record)
    }

    /// Runs a serialiser; returns the result, and the seconds that it took.
    @inline(__always)
    func measured<Value>(_ serialise: () throws -> Value) -> (result: AFResult<Value>, seconds: TimeInterval) {
        let watch = Stopwatch()
        let result: AFResult<Value>
        do {
            result = .success(try serialise())
        } catch {
            result = .failure(error.asSerializationError)
        }
        return (result, watch.seconds)
    }
}

extension Error {
    /// What a serialiser threw, as an `AFError`.
    ///
    /// This error replaces the error that the serialiser was given: serialisers read error models in the content of
    /// refused responses.
    var asSerializationError: AFError {
        asAFError(or: .responseSerializationFailed(reason: .customSerializationFailed(error: self)))
    }
}
