// Checks of a stream's response, made when its content is over.

import Foundation
import FoundationNetworking
import Synchronization

extension DataStreamRequest {
    /// Checks the response with a closure.
    @discardableResult
    @preconcurrency
    public func validate(_ validation: @escaping Validation) -> Self {
        add { request, attempt in
            guard let self = request as? DataStreamRequest, let response = attempt.httpURLResponse else { return nil }
            let result = validation(attempt.record.urlRequest, response)
            self.tellMonitors { monitor, _ in
                monitor.request(
                    self, didValidateRequest: attempt.record.urlRequest, response: response, withResult: result)
            }
            return ValidationRules.error(of: result)
        }
    }

    /// Accepts these statuses.
    @discardableResult
    @preconcurrency
    public func validate<S: Sequence & Sendable>(statusCode acceptableStatusCodes: S) -> Self where S.Element == Int {
        let accepts = Self.membership(of: acceptableStatusCodes)
        return add { request, attempt in
            guard let status = attempt.statusCode else { return nil }
            return (request as? DataStreamRequest)?.reported(
                ValidationRules.status(status, isAcceptable: accepts), attempt)
        }
    }

    /// Accepts these content types; `*` stands for any type or subtype.
    @discardableResult
    @preconcurrency
    public func validate<S: Sequence>(
        contentType acceptableContentTypes: @escaping @Sendable @autoclosure () -> S
    ) -> Self where S.Element == String {
        let acceptable = Self.list(acceptableContentTypes)
        return add { request, attempt in
            (request as? DataStreamRequest)?.checkType(attempt, acceptable())
        }
    }

    /// Accepts status 200 to 299 and the content types of the request's `Accept` field.
    @discardableResult
    public func validate() -> Self {
        validate(statusCode: 200..<300).add { request, attempt in
            let accept = attempt.state.withLock { $0.message.fields }.value(of: "Accept")
            return (request as? DataStreamRequest)?.checkType(attempt, ValidationRules.acceptableTypes(accept))
        }
    }

    private func checkType(_ attempt: Attempt, _ acceptable: [String]) -> AFError? {
        guard attempt.statusCode != nil else { return nil }
        return reported(
            ValidationRules.contentType(
                attempt.responseField("Content-Type"), isEmpty: attempt.downloadCounts.completed == 0,
                acceptable: acceptable), attempt)
    }

    /// Notifies the monitors of what a built-in validation came to.
    private func reported(_ error: AFError?, _ attempt: Attempt) -> AFError? {
        guard hasMonitors, let response = attempt.httpURLResponse else { return error }
        tellMonitors { monitor, _ in
            monitor.request(
                self, didValidateRequest: attempt.record.urlRequest, response: response,
                withResult: error.map(Result.failure) ?? .success(()))
        }
        return error
    }
}
