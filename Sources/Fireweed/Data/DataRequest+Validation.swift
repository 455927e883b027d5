// Validation of data requests.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension DataRequest {
    /// Checks the response with a closure, called off the main queue, before any handler; not called after a failure.
    @discardableResult
    @preconcurrency
    public func validate(_ validation: @escaping Validation) -> Self {
        add { request, attempt in
            guard let self = request as? DataRequest, let response = attempt.httpURLResponse else { return nil }
            let result = validation(attempt.record.urlRequest, response, self.data)
            self.tellMonitors { monitor, _ in
                monitor.request(
                    self, didValidateRequest: attempt.record.urlRequest, response: response, data: self.data,
                    withResult: result)
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
            return (request as? DataRequest)?.reported(
                ValidationRules.status(status, isAcceptable: accepts), attempt)
        }
    }

    /// Accepts these content types; `*` stands for any type or subtype.
    @discardableResult
    @preconcurrency
    public func validate<S: Sequence>(
        contentType acceptableContentTypes: @escaping @Sendable @autoclosure () -> S
    ) -> Self where S.Element == String {
        let acceptable: @Sendable () -> [String] = Self.list(acceptableContentTypes)
        return add { request, attempt in
            (request as? DataRequest)?.checkType(attempt, acceptable())
        }
    }

    /// Accepts status 200 to 299 and the content types of the request's `Accept` field.
    @discardableResult
    public func validate() -> Self {
        validate(statusCode: 200..<300).add { request, attempt in
            let accept = attempt.state.withLock { $0.message.fields }.value(of: "Accept")
            guard accept != nil || request.hasMonitors else { return nil }  // everything is acceptable
            return (request as? DataRequest)?.checkType(attempt, ValidationRules.acceptableTypes(accept))
        }
    }

    private func checkType(_ attempt: Attempt, _ acceptable: [String]) -> AFError? {
        guard attempt.statusCode != nil else { return nil }
        return reported(
            ValidationRules.contentType(
                attempt.responseField("Content-Type"), isEmpty: data?.isEmpty ?? true, acceptable: acceptable), attempt)
    }

    private func reported(_ error: AFError?, _ attempt: Attempt) -> AFError? {
        guard hasMonitors, let response = attempt.httpURLResponse else { return error }
        let data = data
        tellMonitors { monitor, _ in
            monitor.request(
                self, didValidateRequest: attempt.record.urlRequest, response: response, data: data,
                withResult: error.map(Result.failure) ?? .success(()))
        }
        return error
    }
}

extension Request {
    /// Adds a validator, to be run when the task has ended.
    @discardableResult
    func add(_ validator: @escaping RequestValidator) -> Self {
        mutable.withLock { $0.validators.append(validator) }
        return self
    }

    /// Whether a status is in a sequence, without the sequence's type.
    static func membership<S: Sequence & Sendable>(of sequence: S) -> @Sendable (Int) -> Bool where S.Element == Int {
        if let range = sequence as? Range<Int> { return { range.contains($0) } }
        let members = Set(sequence)
        return { members.contains($0) }
    }

    /// The elements of a sequence that is made when it is needed.
    static func list<S: Sequence>(_ make: @escaping @Sendable () -> S) -> @Sendable () -> [String]
    where S.Element == String {
        let erased: @Sendable () -> any Sequence<String> = make
        return { Array(erased()) }
    }
}
