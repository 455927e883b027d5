// Invalid forms.

public import Foundation

/// Why a form cannot be encoded.
///
/// The error is the underlying error of `AFError.multipartEncodingFailed(reason: .outputStreamWriteFailed(error:))`.
public enum MultipartFormDataError: Error, Sendable, Equatable, LocalizedError {
    /// The form has more parts than its `maximumPartCount`.
    case tooManyParts(limit: Int)
    /// A part has a header field whose name is not a token, or whose value has a CR, LF or NUL (RFC 9110 §5.5, §5.6.2).
    case invalidHeaderField(name: String)

    /// What is wrong with the form.
    public var errorDescription: String? {
        switch self {
        case .tooManyParts(let limit): "The form has more than \(limit) parts."
        case .invalidHeaderField(let name):
            "A part has a header field \(name.debugDescription) whose name is not a token, or whose value has a line break or NUL."
        }
    }
}
