// Validators, for every kind of request that has them.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Request {
    /// Adds a validator; it runs when an attempt has ended, unless there is an error already.
    @discardableResult
    func add(_ validator: @escaping RequestValidator) -> Self {
        mutable.withLock { $0.validators.append(validator) }
        return self
    }

    /// Adds the caller's validation of a response.
    func addValidator<Kind: Request>(
        _ validation: @escaping @Sendable (Kind, URLRequest, HTTPURLResponse) -> ValidationResult
    ) -> Self {
        add { request, attempt in
            guard let request = request as? Kind, let response = attempt.httpURLResponse else { return nil }
            let result = validation(request, attempt.record.urlRequest, response)
            request.notifyOfValidation(result, attempt)
            return ValidationRules.error(of: result)
        }
    }

    /// Accepts these status codes.
    func addValidator<S: Sequence & Sendable>(statusCode acceptable: S) -> Self where S.Element == Int {
        let accepts = Self.membership(of: acceptable)
        return add { request, attempt in
            guard let status = attempt.statusCode else { return nil }
            return request.reported(ValidationRules.status(status, isAcceptable: accepts), attempt)
        }
    }

    /// Accepts these content types, which are asked for at each validation.
    func addValidator<S: Sequence>(contentType acceptable: @escaping @Sendable () -> S) -> Self
    where S.Element == String {
        let erased: @Sendable () -> any Sequence<String> = acceptable
        return add { request, attempt in request.checkType(attempt, Array(erased())) }
    }

    /// Accepts status 200 to 299 and the content types of the request's `Accept` field.
    func addDefaultValidators() -> Self {
        addValidator(statusCode: 200..<300).add { request, attempt in
            let accept = attempt.state.withLock { $0.message.fields }.value(of: "Accept")
            guard accept != nil || request.hasMonitors else { return nil }  // every type is acceptable
            return request.checkType(attempt, ValidationRules.acceptableTypes(accept))
        }
    }

    private func checkType(_ attempt: Attempt, _ acceptable: [String]) -> AFError? {
        guard attempt.statusCode != nil else { return nil }
        let error = ValidationRules.contentType(
            attempt.responseField("Content-Type"), isEmpty: !attempt.hasContent, acceptable: acceptable)
        return reported(error, attempt)
    }

    private func reported(_ error: AFError?, _ attempt: Attempt) -> AFError? {
        if hasMonitors { notifyOfValidation(error.map(Result.failure) ?? .success(()), attempt) }
        return error
    }

    /// Notifies the monitors; they have an event for each kind of request.
    private func notifyOfValidation(_ result: ValidationResult, _ attempt: Attempt) {
        guard hasMonitors, let response = attempt.httpURLResponse else { return }
        let sent = attempt.record.urlRequest
        switch self {
        case let request as DataRequest:
            let data = request.data
            notifyMonitors { monitor, _ in
                monitor.request(request, didValidateRequest: sent, response: response, data: data, withResult: result)
            }
        case let request as DownloadRequest:
            let file = request.receiver.file?.url  // this does not keep a temporary file
            notifyMonitors { monitor, _ in
                monitor.request(
                    request, didValidateRequest: sent, response: response, fileURL: file, withResult: result)
            }
        case let request as DataStreamRequest:
            notifyMonitors { monitor, _ in
                monitor.request(request, didValidateRequest: sent, response: response, withResult: result)
            }
        default: break
        }
    }

    /// Whether a status is in a sequence; does not carry the sequence's type.
    private static func membership<S: Sequence & Sendable>(
        of sequence: S
    ) -> @Sendable (Int) -> Bool where S.Element == Int {
        if let range = sequence as? Range<Int> { return { range.contains($0) } }
        let members = Set(sequence)
        return { members.contains($0) }
    }
}
