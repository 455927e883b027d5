// The common part of the responses of all kinds of requests.

import CLinux
import FireweedTransport
import Foundation
import Glibc
import Synchronization

extension Request {
    /// The request, response and metrics of the last attempt, for the responses that handlers get.
    var responseContext: any ResponseContext {
        let (attempt, record) = mutable.withLock { ($0.attempts.last, $0.records.last) }
        return attempt ?? UnsentResponseContext(record: record)
    }

    /// Runs a serialiser; returns the result, its failure apart, and the seconds that it took.
    // Inlined: a generic function of its own would look up the metadata of the result again.
    @inline(__always)
    func measured<Value>(
        _ serialise: () throws -> Value
    ) -> (result: AFResult<Value>, error: AFError?, seconds: TimeInterval) {
        // ContinuousClock counts attoseconds, which costs more than the system call.
        let start = fw_clock_nanoseconds(CLOCK_MONOTONIC)
        let result: AFResult<Value>
        var failure: AFError?
        do {
            result = .success(try serialise())
        } catch {
            let error = error.asSerializationError
            (result, failure) = (.failure(error), error)
        }
        return (result, failure, TimeInterval(fw_clock_nanoseconds(CLOCK_MONOTONIC) - start) / 1_000_000_000)
    }
}

extension Error {
    /// The error of a serialiser, as an ``AFError``.
    ///
    /// This error replaces the error that the serialiser was given: a serialiser may read an error model from the
    /// content of a refused response.
    var asSerializationError: AFError {
        asAFError(or: .responseSerializationFailed(reason: .customSerializationFailed(error: self)))
    }
}
