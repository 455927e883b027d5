// Validation of the responses of requests.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Request {
    /// Adds a validator.
    ///
    /// It runs when an attempt has ended, unless the request already has an error; for sequences of a stream, it runs
    /// before they get content.
    @discardableResult
    func add(acceptingEmpty acceptsEmpty: Bool = false, _ check: @escaping RequestValidator.Check) -> Self {
        mutable.withLock { $0.append(RequestValidator(check: check, acceptsEmpty: acceptsEmpty)) }
        return self
    }

    /// Adds the caller's validation of a response.
    func addValidator<Kind: Request>(
        _ validation: @escaping @Sendable (Kind, URLRequest, HTTPURLResponse) -> ValidationResult
    ) -> Self {
        add { request, attempt, _ in
            guard let request = request as? Kind, let response = attempt.httpURLResponse else { return nil }
            return validation(request, attempt.record.urlRequest, response)
        }
    }

    /// Adds a validator that accepts only these status codes.
    func addValidator<S: Sequence & Sendable>(statusCode acceptable: S) -> Self where S.Element == Int {
        let accepts = Self.membership(of: acceptable)
        return add { _, attempt, _ in
            guard let status = attempt.statusCode else { return nil }
            return Self.result(ValidationRules.status(status, isAcceptable: accepts))
        }
    }

    /// Adds a validator that accepts only these content types; the closure is called at each validation.
    func addValidator<S: Sequence>(contentType acceptable: @escaping @Sendable () -> S) -> Self
    where S.Element == String {
        let erased: @Sendable () -> any Sequence<String> = acceptable
        return add(acceptingEmpty: true) { _, attempt, hasContent in
            Self.checkType(attempt, hasContent, Array(erased()))
        }
    }

    /// Adds validators that accept only status 200 to 299, and the content types of the request's `Accept` field.
    func addDefaultValidators() -> Self {
        addValidator(statusCode: 200..<300).add(acceptingEmpty: true) { request, attempt, hasContent in
            let accept = attempt.message.fields.value(of: "Accept")
            guard accept != nil || request.announces(.validation) else { return nil }  // every type is acceptable
            return Self.checkType(attempt, hasContent, ValidationRules.acceptableTypes(accept))
        }
    }

    private static func checkType(
        _ attempt: Attempt, _ hasContent: Bool, _ acceptable: [String]
    ) -> ValidationResult? {
        guard attempt.statusCode != nil else { return nil }
        return result(
            ValidationRules.contentType(
                attempt.responseField("Content-Type"), isEmpty: !hasContent, acceptable: acceptable))
    }

    private static func result(_ error: AFError?) -> ValidationResult { error.map(Result.failure) ?? .success(()) }

    // MARK: Running

    /// Whether the request has validators.
    var hasValidators: Bool { mutable.withLock { !$0.validators.isEmpty } }

    /// Runs the validators on a response's head, in their order and up to the first failure; returns their results.
    ///
    /// The validators assume that content follows. The result is `nil` for a validator that has nothing to check.
    /// Monitors are not notified: `validate(_:)` does that at the attempt's end.
    func judgeHead(of attempt: Attempt) -> [ValidationResult?] {
        var results: [ValidationResult?] = []
        for validator in mutable.withLock({ $0.validators }) {
            results.append(validator.check(self, attempt, true))
            if case .failure = results.last ?? nil { break }
        }
        return results
    }

    /// Runs the validators in their order, up to the first failure, and records the error of this failure.
    ///
    /// Does nothing if the request already has an error.
    ///
    /// A validator that has run on the head does not run again, unless it accepts every empty response and no content
    /// came.
    func validate(_ attempt: Attempt) {
        let (validators, error) = mutable.withLock { ($0.validators, $0.error) }
        guard error == nil, !validators.isEmpty else { return }
        let (known, hasContent) = (parts.receiver.headResults(of: attempt), attempt.hasContent)
        for (index, validator) in validators.enumerated() {
            let isKnown = index < known.count && (hasContent || !validator.acceptsEmpty)
            guard let result = isKnown ? known[index] : validator.check(self, attempt, hasContent) else { continue }
            notifyOfValidation(result, attempt)
            guard let error = ValidationRules.error(of: result) else { continue }
            return mutable.withLock { $0.fail(error) }
        }
    }

    /// Notifies the monitors of a validation: each kind of request has its own event.
    private func notifyOfValidation(_ result: ValidationResult, _ attempt: Attempt) {
        guard announces(.validation), let response = attempt.httpURLResponse else { return }
        let sent = attempt.record.urlRequest
        switch self {
        case let request as DataRequest:
            let data = request.data
            notifyMonitors(.validation) { monitor, _ in
                monitor.request(request, didValidateRequest: sent, response: response, data: data, withResult: result)
            }
        case let request as DownloadRequest:
            let file = request.receiver.file?.url  // this does not keep a temporary file
            notifyMonitors(.validation) { monitor, _ in
                monitor.request(
                    request, didValidateRequest: sent, response: response, fileURL: file, withResult: result)
            }
        case let request as DataStreamRequest:
            notifyMonitors(.validation) { monitor, _ in
                monitor.request(request, didValidateRequest: sent, response: response, withResult: result)
            }
        default: break
        }
    }

    /// A closure that tests whether a status is in a sequence; it captures a range or a set, never `S`.
    private static func membership<S: Sequence & Sendable>(
        of sequence: S
    ) -> @Sendable (Int) -> Bool where S.Element == Int {
        if let range = sequence as? Range<Int> { return { range.contains($0) } }
        let members = Set(sequence)
        return { members.contains($0) }
    }
}
