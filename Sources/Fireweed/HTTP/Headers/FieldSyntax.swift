// The syntax of methods and fields.

/// The syntax of methods and fields (RFC 9110 §5.5, §5.6.2, §9.1): a violation never reaches a connection.
package enum FieldSyntax {
    /// The error of the first violation; `nil` when the request can be sent.
    static func firstViolation(method: String, headers: HTTPHeaders?) -> AFError? {
        guard isToken(method) else {
            return .createURLRequestFailed(error: RequestSyntaxError.invalidMethod(method))
        }
        return headers.flatMap(firstBrokenName).map {
            .createURLRequestFailed(error: RequestSyntaxError.invalidHeaderField(name: $0))
        }
    }

    /// The name of the first field that could forge another field, or end the header section.
    static func firstBrokenName(in headers: HTTPHeaders) -> String? {
        headers.first { !isToken($0.name) || !isValue($0.value) }?.name
    }

    /// Whether the text has one or more characters, all of which RFC 9110 §5.6.2 allows in a token.
    package static func isToken(_ text: String) -> Bool { text.isToken }

    /// Whether the text has no line break and no NUL, with which a value could forge a field or a request.
    package static func isValue(_ text: String) -> Bool { text.staysInLine }
}
