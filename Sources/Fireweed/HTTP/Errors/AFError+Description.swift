// Descriptions of errors: the cause, the subject, and advice; without credentials and queries.

import FireweedTransport
public import Foundation

extension AFError: LocalizedError {
    /// One sentence about what failed.
    public var errorDescription: String? {
        switch self {
        case .createURLRequestFailed(let error): "The URLRequest could not be made: \(error.plainText)"
        case .createUploadableFailed(let error): "The content to upload could not be made: \(error.plainText)"
        case .downloadedFileMoveFailed(let error, let source, let destination):
            "The download could not be moved from \(source.path) to \(destination.path): \(error.plainText)"
        case .explicitlyCancelled: "The request was cancelled."
        case .invalidURL(let url): "This is no valid URL: \(Userinfo.removed(from: "\(url)"))"
        case .multipartEncodingFailed(let reason): "The multipart content could not be encoded: \(reason.plainText)"
        case .parameterEncodingFailed(let reason): "The parameters could not be encoded: \(reason.plainText)"
        case .parameterEncoderFailed(let reason): "The parameters could not be encoded: \(reason.plainText)"
        case .requestAdaptationFailed(let error): "An adapter stopped the request: \(error.plainText)"
        case .requestRetryFailed(let retryError, let original):
            "The retry failed: \(retryError.plainText) It was asked for because: \(original.plainText)"
        case .responseValidationFailed(let reason): reason.plainText
        case .responseSerializationFailed(let reason): reason.plainText
        case .serverTrustEvaluationFailed(let reason): "The server is not trusted: \(reason.plainText)"
        case .sessionDeinitialized:
            "The session was released before the request had finished. Keep a reference to it as long as requests run."
        case .sessionInvalidated(let error):
            "The session was invalidated: \(error.map(\.plainText) ?? "no reason was given")"
        case .sessionTaskFailed(let error): "URLSessionTask failed with error: \(error.plainText)"
        case .urlRequestValidationFailed(let reason): reason.plainText
        }
    }
}

extension AFError: CustomStringConvertible {
    /// The same as `localizedDescription`: `print(error)` shows neither credentials nor queries, which the associated
    /// values may contain.
    public var description: String { localizedDescription }
}

extension AFError.ParameterEncodingFailureReason {
    fileprivate var plainText: String {
        switch self {
        case .missingURL: "the request has no URL"
        case .jsonEncodingFailed(let error): "they are nothing that JSON can hold (\(error.plainText))"
        case .customEncodingFailed(let error): error.plainText
        }
    }
}

extension AFError.ParameterEncoderFailureReason {
    fileprivate var plainText: String {
        switch self {
        case .missingRequiredComponent(.url): "the request has no URL"
        case .missingRequiredComponent(.httpMethod(let method)): "\(method) is no method to encode for"
        case .encoderFailed(let error): error.plainText
        }
    }
}

extension AFError.ResponseValidationFailureReason {
    fileprivate var plainText: String {
        switch self {
        case .dataFileNil: "There is no file with the response's content."
        case .dataFileReadFailed(let url): "The response's content could not be read from \(url.path)."
        case .missingContentType(let types):
            "The response has no Content-Type; acceptable are \(types.joined(separator: ", "))."
        case .unacceptableContentType(let types, let type):
            "The response's Content-Type is \(type); acceptable are \(types.joined(separator: ", "))."
        case .unacceptableStatusCode(let code): "The response's status is \(code), which is not acceptable."
        case .customValidationFailed(let error): "The response did not pass a validation: \(error.plainText)"
        }
    }
}

extension AFError.ResponseSerializationFailureReason {
    fileprivate var plainText: String {
        switch self {
        case .inputDataNilOrZeroLength: "The response is empty, and its method and status do not allow that."
        case .inputFileNil: "There is no file with the response's content."
        case .inputFileReadFailed(let url): "The response's content could not be read from \(url.path)."
        case .stringSerializationFailed(let encoding): "The response is no text in \(encoding.description)."
        case .jsonSerializationFailed(let error): "The response is no JSON: \(error.plainText)"
        case .decodingFailed(let error): "The response could not be decoded: \(error.plainText)"
        case .customSerializationFailed(let error): "The response could not be serialised: \(error.plainText)"
        case .invalidEmptyResponse(let type):
            "The response is empty, and \(type) has no empty value; make it an EmptyResponse or use Empty."
        }
    }
}

extension AFError.URLRequestValidationFailureReason {
    fileprivate var plainText: String {
        switch self {
        case .bodyDataInGETRequest(let data): "A GET request must not have content; this one has \(data.count) bytes."
        }
    }
}

extension AFError.MultipartEncodingFailureReason {
    fileprivate var plainText: String {
        switch self {
        case .bodyPartURLInvalid(let url): "a URL of the scheme \(url.scheme ?? "") is given for a file"
        case .bodyPartFilenameInvalid(let url):
            "the name of \(url.path) has no extension; give the part a file name and a media type"
        case .bodyPartFileNotReachable(let url): "\(url.path) does not exist"
        case .bodyPartFileNotReachableWithError(let url, let error):
            "\(url.path) could not be found: \(error.plainText)"
        case .bodyPartFileIsDirectory(let url): "\(url.path) is a folder"
        case .bodyPartFileSizeNotAvailable(let url): "the length of \(url.path) is not known"
        case .bodyPartFileSizeQueryFailedWithError(let url, let error):
            "the length of \(url.path) could not be read: \(error.plainText)"
        case .bodyPartInputStreamCreationFailed(let url): "\(url.path) could not be opened"
        case .outputStreamCreationFailed(let url): "\(url.path) could not be created"
        case .outputStreamFileAlreadyExists(let url): "\(url.path) exists already"
        case .outputStreamURLInvalid(let url): "a URL of the scheme \(url.scheme ?? "") is given for a file"
        case .outputStreamWriteFailed(let error), .inputStreamReadFailed(let error): error.plainText
        }
    }
}
