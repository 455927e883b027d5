// The rules of `validate`, on plain values.

import Foundation

/// Status and content type against what is acceptable.
enum ValidationRules {
    static func status(_ status: Int, isAcceptable: (Int) -> Bool) -> AFError? {
        isAcceptable(status) ? nil : .responseValidationFailed(reason: .unacceptableStatusCode(code: status))
    }

    /// An empty body has any type; a response without a type passes only when every type is acceptable.
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

    /// The types that a request's `Accept` field asks for; without one, every type.
    static func acceptableTypes(_ accept: String?) -> [String] {
        guard let accept else { return ["*/*"] }
        return accept.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    /// The error that a user's validation came to.
    static func error(of result: Result<Void, any Error>) -> AFError? {
        guard case .failure(let error) = result else { return nil }
        return error.asAFError(or: .responseValidationFailed(reason: .customValidationFailed(error: error)))
    }
}
