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
        return add { _, attempt in
            attempt.statusCode.flatMap { ValidationRules.status($0, isAcceptable: accepts) }
        }
    }

    /// Accepts these content types; `*` stands for any type or subtype.
    @discardableResult
    @preconcurrency
    public func validate<S: Sequence>(
        contentType acceptableContentTypes: @escaping @Sendable @autoclosure () -> S
    ) -> Self where S.Element == String {
        let acceptable = Self.list(acceptableContentTypes)
        return add { _, attempt in
            guard attempt.statusCode != nil else { return nil }
            return ValidationRules.contentType(
                attempt.responseField("Content-Type"), isEmpty: attempt.downloadCounts.completed == 0,
                acceptable: acceptable())
        }
    }

    /// Accepts status 200 to 299 and the content types of the request's `Accept` field.
    @discardableResult
    public func validate() -> Self {
        validate(statusCode: 200..<300).add { _, attempt in
            guard attempt.statusCode != nil else { return nil }
            let accept = attempt.state.withLock { $0.hop.fields }.value(of: "Accept")
            return ValidationRules.contentType(
                attempt.responseField("Content-Type"), isEmpty: attempt.downloadCounts.completed == 0,
                acceptable: ValidationRules.acceptableTypes(accept))
        }
    }
}
