// The error type of the library.

import FireweedTransport
public import Foundation

/// Every error that a request can end with.
///
/// Reasons are nested enums, and have the underlying error.
public indirect enum AFError: Error, Sendable {
    /// The `URLRequest` could not be made, or breaks the syntax of HTTP (``RequestSyntaxError``).
    case createURLRequestFailed(error: any Error)
    /// The content to upload could not be made.
    case createUploadableFailed(error: any Error)
    /// The downloaded file could not be moved to its destination.
    case downloadedFileMoveFailed(error: any Error, source: URL, destination: URL)
    /// `cancel()` was called.
    case explicitlyCancelled
    /// No valid URL could be made.
    case invalidURL(url: any URLConvertible)
    /// Multipart content could not be encoded.
    case multipartEncodingFailed(reason: MultipartEncodingFailureReason)
    /// A ``ParameterEncoding`` failed.
    case parameterEncodingFailed(reason: ParameterEncodingFailureReason)
    /// A ``ParameterEncoder`` failed.
    case parameterEncoderFailed(reason: ParameterEncoderFailureReason)
    /// An adapter failed.
    case requestAdaptationFailed(error: any Error)
    /// A retrier ended the request with another error.
    case requestRetryFailed(retryError: any Error, originalError: any Error)
    /// The response did not pass a validation.
    case responseValidationFailed(reason: ResponseValidationFailureReason)
    /// The response could not be serialised.
    case responseSerializationFailed(reason: ResponseSerializationFailureReason)
    /// The server's certificates were refused.
    case serverTrustEvaluationFailed(reason: ServerTrustFailureReason)
    /// The session was released while the request was unfinished.
    case sessionDeinitialized
    /// The session was invalidated, with the cause if there is one.
    case sessionInvalidated(error: (any Error)?)
    /// The exchange failed; the error is mostly a `URLError`, or another such as an `OverloadError` or the error of a
    /// `URLProtocol`.
    case sessionTaskFailed(error: any Error)
    /// The `URLRequest` must not be sent.
    case urlRequestValidationFailed(reason: URLRequestValidationFailureReason)
}

extension AFError {
    /// Why multipart content could not be encoded.
    public enum MultipartEncodingFailureReason: Sendable {
        /// The URL of a part is not a file URL.
        case bodyPartURLInvalid(url: URL)
        /// The name of a part's file is empty or has no extension, and no other name is given.
        case bodyPartFilenameInvalid(in: URL)
        /// The file of a part cannot be reached.
        case bodyPartFileNotReachable(at: URL)
        /// The check whether the file of a part can be reached failed.
        case bodyPartFileNotReachableWithError(atURL: URL, error: any Error)
        /// The file of a part is a directory.
        case bodyPartFileIsDirectory(at: URL)
        /// The file of a part has no size.
        case bodyPartFileSizeNotAvailable(at: URL)
        /// The size of a part's file could not be read.
        case bodyPartFileSizeQueryFailedWithError(forURL: URL, error: any Error)
        /// No stream could be made for a part's file.
        case bodyPartInputStreamCreationFailed(for: URL)
        /// No stream could be made for the output file.
        case outputStreamCreationFailed(for: URL)
        /// The output file exists already.
        case outputStreamFileAlreadyExists(at: URL)
        /// The output's URL is not a file URL.
        case outputStreamURLInvalid(url: URL)
        /// Writing the output failed, or the form must not be written (``MultipartFormDataError``).
        case outputStreamWriteFailed(error: any Error)
        /// Reading a part failed.
        case inputStreamReadFailed(error: any Error)
    }

    /// Why a ``ParameterEncoding`` failed.
    public enum ParameterEncodingFailureReason: Sendable {
        /// The request has no URL to add a query to.
        case missingURL
        /// JSON cannot represent the parameters.
        case jsonEncodingFailed(error: any Error)
        /// A custom encoding failed.
        ///
        /// Your own encodings can throw this case; the library never does. Other errors that an encoding throws become
        /// `AFError.createURLRequestFailed(error:)`, as with Alamofire.
        case customEncodingFailed(error: any Error)
    }

    /// Why a ``ParameterEncoder`` failed.
    public enum ParameterEncoderFailureReason: Sendable {
        /// A part of a request that an encoder needs.
        public enum RequiredComponent: Sendable {
            /// The URL.
            case url
            /// The method; the raw value is the method that was found.
            case httpMethod(rawValue: String)
        }

        /// The request lacks a component.
        case missingRequiredComponent(RequiredComponent)
        /// The encoder failed.
        case encoderFailed(error: any Error)
    }

    /// Why a response did not pass a validation.
    public enum ResponseValidationFailureReason: Sendable {
        /// There is no file with the content.
        case dataFileNil
        /// The file with the content could not be read.
        case dataFileReadFailed(at: URL)
        /// The response has no `Content-Type`, and not every type is acceptable.
        case missingContentType(acceptableContentTypes: [String])
        /// The response's type is not among the acceptable ones.
        case unacceptableContentType(acceptableContentTypes: [String], responseContentType: String)
        /// The status is not among the acceptable ones.
        case unacceptableStatusCode(code: Int)
        /// A custom validation failed.
        case customValidationFailed(error: any Error)
    }

    /// Why a response could not be serialised.
    public enum ResponseSerializationFailureReason: Sendable {
        /// There is no content, and the response may not be empty.
        case inputDataNilOrZeroLength
        /// There is no file with the content.
        case inputFileNil
        /// The file with the content could not be read.
        case inputFileReadFailed(at: URL)
        /// The content is not text in this encoding.
        case stringSerializationFailed(encoding: String.Encoding)
        /// The content is not JSON.
        case jsonSerializationFailed(error: any Error)
        /// The content could not be decoded.
        case decodingFailed(error: any Error)
        /// A custom serialiser failed.
        case customSerializationFailed(error: any Error)
        /// The response is empty, and the type has no value for an empty response.
        case invalidEmptyResponse(type: String)
    }

    /// Why a request must not be sent.
    public enum URLRequestValidationFailureReason: Sendable {
        /// A GET request has content.
        case bodyDataInGETRequest(Data)
    }

    /// A stream had fewer bytes than were announced for it.
    public struct UnexpectedInputStreamLength: Error, Sendable, LocalizedError {
        /// The announced number of bytes.
        public var bytesExpected: UInt64
        /// The number of bytes that were read.
        public var bytesRead: UInt64

        /// A sentence with both numbers.
        public var errorDescription: String? {
            "\(bytesRead) bytes were read where \(bytesExpected) were announced."
        }
    }
}
