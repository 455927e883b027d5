// The rules of `validate`, on plain values.

import Foundation

/// Compares the status and the content type with the acceptable ones.
enum ValidationRules {
    static func status(_ status: Int, isAcceptable: (Int) -> Bool) -> AFError? {
        isAcceptable(status) ? nil : .responseValidationFailed(reason: .unacceptableStatusCode(code: status))
    }

    /// Checks the content type; an empty body is acceptable with any type.
    ///
    /// A response without a content type passes only when every type is acceptable.
    static func contentType(_ found: String?, isEmpty: Bool, acceptable: [String]) -> AFError? {
        guard !isEmpty else { return nil }
        guard let found, let type = MIMEType(found) else {
            if acceptable.contains(where: { MIMEType($0)?.isWildcard == true }) { return nil }
            return .responseValidationFailed(reason: .missingContentType(acceptableContentTypes: acceptable.sorted()))
        }
        if acceptable.contains(where: { MIMEType($0)?.matches(type) == true }) { return nil }
        return .responseValidationFailed(
            reason: .unacceptableContentType(
                acceptableContentTypes: acceptable.sorted(), responseContentType: "\(type.type)/\(type.subtype)"))
    }

    /// The types in the request's `Accept` field; every type when the request has no such field.
    static func acceptableTypes(_ accept: String?) -> [String] {
        guard let accept else { return ["*/*"] }
        return accept.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// The error of a validation closure as an ``AFError``.
    static func error(of result: Result<Void, any Error>) -> AFError? {
        guard case .failure(let error) = result else { return nil }
        return error.asAFError(or: .responseValidationFailed(reason: .customValidationFailed(error: error)))
    }
}
