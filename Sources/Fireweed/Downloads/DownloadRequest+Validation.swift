// Validation of downloads.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension DownloadRequest {
    /// Checks the response with a closure, called off the main queue, before any handler; not called after a failure.
    @discardableResult
    @preconcurrency
    public func validate(_ validation: @escaping Validation) -> Self {
        add { request, attempt in
            guard let self = request as? DownloadRequest, let response = attempt.httpURLResponse else { return nil }
            let result = validation(attempt.record.urlRequest, response, self.receiver.file?.url)
            self.tellMonitors { monitor, _ in
                monitor.request(
                    self, didValidateRequest: attempt.record.urlRequest, response: response,
                    fileURL: self.receiver.file?.url,
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
            return (request as? DownloadRequest)?.reported(
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
            (request as? DownloadRequest)?.checkType(attempt, acceptable())
        }
    }

    /// Accepts status 200 to 299 and the content types of the request's `Accept` field.
    @discardableResult
    public func validate() -> Self {
        validate(statusCode: 200..<300).add { request, attempt in
            let accept = attempt.state.withLock { $0.message.fields }.value(of: "Accept")
            guard accept != nil || request.hasMonitors else { return nil }  // everything is acceptable
            return (request as? DownloadRequest)?.checkType(attempt, ValidationRules.acceptableTypes(accept))
        }
    }

    private func checkType(_ attempt: Attempt, _ acceptable: [String]) -> AFError? {
        guard attempt.statusCode != nil else { return nil }
        return reported(
            ValidationRules.contentType(
                attempt.responseField("Content-Type"), isEmpty: attempt.downloadCounts.completed == 0,
                acceptable: acceptable), attempt)
    }

    private func reported(_ error: AFError?, _ attempt: Attempt) -> AFError? {
        guard hasMonitors, let response = attempt.httpURLResponse else { return error }
        let fileURL = receiver.file?.url  // to show it takes nothing: the file goes with the request
        tellMonitors { monitor, _ in
            monitor.request(
                self, didValidateRequest: attempt.record.urlRequest, response: response, fileURL: fileURL,
                withResult: error.map(Result.failure) ?? .success(()))
        }
        return error
    }
}
