// Properties that classify an error.

public import Foundation

extension AFError {
    /// True for `.createURLRequestFailed`.
    public var isCreateURLRequestError: Bool {
        if case .createURLRequestFailed = self { true } else { false }
    }

    /// True for `.createUploadableFailed`.
    public var isCreateUploadableError: Bool {
        if case .createUploadableFailed = self { true } else { false }
    }

    /// True for `.downloadedFileMoveFailed`.
    public var isDownloadedFileMoveError: Bool {
        if case .downloadedFileMoveFailed = self { true } else { false }
    }

    /// True for `.explicitlyCancelled`.
    public var isExplicitlyCancelledError: Bool {
        if case .explicitlyCancelled = self { true } else { false }
    }

    /// True for `.invalidURL`.
    public var isInvalidURLError: Bool {
        if case .invalidURL = self { true } else { false }
    }

    /// True for `.multipartEncodingFailed`.
    public var isMultipartEncodingError: Bool {
        if case .multipartEncodingFailed = self { true } else { false }
    }

    /// True for `.parameterEncodingFailed`.
    public var isParameterEncodingError: Bool {
        if case .parameterEncodingFailed = self { true } else { false }
    }

    /// True for `.parameterEncoderFailed`.
    public var isParameterEncoderError: Bool {
        if case .parameterEncoderFailed = self { true } else { false }
    }

    /// True for `.requestAdaptationFailed`.
    public var isRequestAdaptationError: Bool {
        if case .requestAdaptationFailed = self { true } else { false }
    }

    /// True for `.requestRetryFailed`.
    public var isRequestRetryError: Bool {
        if case .requestRetryFailed = self { true } else { false }
    }

    /// True for `.responseValidationFailed`.
    public var isResponseValidationError: Bool {
        if case .responseValidationFailed = self { true } else { false }
    }

    /// True for `.responseSerializationFailed`.
    public var isResponseSerializationError: Bool {
        if case .responseSerializationFailed = self { true } else { false }
    }

    /// True for `.serverTrustEvaluationFailed`.
    public var isServerTrustEvaluationError: Bool {
        if case .serverTrustEvaluationFailed = self { true } else { false }
    }

    /// True for `.sessionDeinitialized`.
    public var isSessionDeinitializedError: Bool {
        if case .sessionDeinitialized = self { true } else { false }
    }

    /// True for `.sessionInvalidated`.
    public var isSessionInvalidatedError: Bool {
        if case .sessionInvalidated = self { true } else { false }
    }

    /// True for `.sessionTaskFailed`.
    public var isSessionTaskError: Bool {
        if case .sessionTaskFailed = self { true } else { false }
    }

    /// True for `.urlRequestValidationFailed`.
    public var isURLRequestValidationError: Bool {
        if case .urlRequestValidationFailed = self { true } else { false }
    }

    /// The value that could not be made into a URL, for `.invalidURL`.
    public var urlConvertible: (any URLConvertible)? {
        if case .invalidURL(let url) = self { url } else { nil }
    }

    /// The URL that a failure is about, for multipart failures.
    public var url: URL? {
        if case .multipartEncodingFailed(let reason) = self { reason.url } else { nil }
    }

    /// The underlying error, if there is one.
    public var underlyingError: (any Error)? {
        switch self {
        case .createURLRequestFailed(let error), .createUploadableFailed(let error),
            .downloadedFileMoveFailed(let error, _, _), .requestAdaptationFailed(let error),
            .requestRetryFailed(let error, _), .sessionTaskFailed(let error):
            error
        case .sessionInvalidated(let error): error
        case .multipartEncodingFailed(let reason): reason.underlyingError
        case .parameterEncodingFailed(.jsonEncodingFailed(let error)),
            .parameterEncodingFailed(.customEncodingFailed(let error)),
            .parameterEncoderFailed(.encoderFailed(let error)),
            .responseValidationFailed(.customValidationFailed(let error)),
            .responseSerializationFailed(.jsonSerializationFailed(let error)),
            .responseSerializationFailed(.decodingFailed(let error)),
            .responseSerializationFailed(.customSerializationFailed(let error)):
            error
        case .serverTrustEvaluationFailed(let reason): reason.underlyingError
        case .explicitlyCancelled, .invalidURL, .parameterEncodingFailed, .parameterEncoderFailed,
            .responseValidationFailed, .responseSerializationFailed, .sessionDeinitialized,
            .urlRequestValidationFailed:
            nil
        }
    }

    /// The content types that would have been acceptable, for failed validations of the type.
    public var acceptableContentTypes: [String]? {
        switch self {
        case .responseValidationFailed(.missingContentType(let types)),
            .responseValidationFailed(.unacceptableContentType(let types, _)):
            types
        default: nil
        }
    }

    /// The response's content type, for failed validations of the type.
    public var responseContentType: String? {
        if case .responseValidationFailed(.unacceptableContentType(_, let type)) = self { type } else { nil }
    }

    /// The response's status, for failed validations of the status.
    public var responseCode: Int? {
        if case .responseValidationFailed(.unacceptableStatusCode(let code)) = self { code } else { nil }
    }

    /// The encoding in which the content could not be read, for failed string serialisations.
    public var failedStringEncoding: String.Encoding? {
        if case .responseSerializationFailed(.stringSerializationFailed(let encoding)) = self { encoding } else { nil }
    }

    /// The downloaded file, for failed moves.
    public var sourceURL: URL? {
        if case .downloadedFileMoveFailed(_, let source, _) = self { source } else { nil }
    }

    /// The destination of the downloaded file, for failed moves.
    public var destinationURL: URL? {
        if case .downloadedFileMoveFailed(_, _, let destination) = self { destination } else { nil }
    }
}

extension AFError.MultipartEncodingFailureReason {
    fileprivate var url: URL? {
        switch self {
        case .bodyPartURLInvalid(let url), .bodyPartFilenameInvalid(let url), .bodyPartFileNotReachable(let url),
            .bodyPartFileNotReachableWithError(let url, _), .bodyPartFileIsDirectory(let url),
            .bodyPartFileSizeNotAvailable(let url), .bodyPartFileSizeQueryFailedWithError(let url, _),
            .bodyPartInputStreamCreationFailed(let url), .outputStreamCreationFailed(let url),
            .outputStreamFileAlreadyExists(let url), .outputStreamURLInvalid(let url):
            url
        case .outputStreamWriteFailed, .inputStreamReadFailed: nil
        }
    }

    fileprivate var underlyingError: (any Error)? {
        switch self {
        case .bodyPartFileNotReachableWithError(_, let error), .bodyPartFileSizeQueryFailedWithError(_, let error),
            .outputStreamWriteFailed(let error), .inputStreamReadFailed(let error):
            error
        default: nil
        }
    }
}

extension Error {
    /// The error as an ``AFError``, if it is one.
    public var asAFError: AFError? { self as? AFError }

    /// The error as an ``AFError``; ends the program when the error has another type.
    ///
    /// - Parameters:
    ///   - message: the text with which the program ends; evaluated only then.
    ///   - file: the file of the call.
    ///   - line: the line of the call.
    /// - Returns: the error.
    public func asAFError(
        orFailWith message: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
    ) -> AFError {
        guard let error = asAFError else { fatalError(message(), file: file, line: line) }
        return error
    }

    /// The error as an ``AFError``, or `fallback` when it is another error.
    func asAFError(or fallback: @autoclosure () -> AFError) -> AFError {
        asAFError ?? fallback()
    }
}
