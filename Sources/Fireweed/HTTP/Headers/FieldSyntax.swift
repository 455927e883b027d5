// The syntax of methods and fields.

import FireweedTransport

/// The syntax of methods and fields (RFC 9110 §5.5, §5.6.2, §9.1): a violation never reaches a connection.
package enum FieldSyntax {
    /// The error of the first violation; `nil` when the request can be sent.
    static func firstViolation(method: String, headers: HTTPHeaders?) -> AFError? {
        guard method.isToken else {
            return .createURLRequestFailed(error: RequestSyntaxError.invalidMethod(method))
        }
        return headers.flatMap(firstBrokenName).map {
            .createURLRequestFailed(error: RequestSyntaxError.invalidHeaderField(name: $0))
        }
    }

    /// The name of the first field that could forge another field, or end the header section.
    static func firstBrokenName(in headers: HTTPHeaders) -> String? {
        headers.first { !$0.name.isToken || !$0.value.staysInLine }?.name
    }
}
