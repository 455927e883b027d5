import Alamofire
import Foundation

enum APIError: LocalizedError {
    case offline, unauthorized, timeout
    case server(Int)
    case problem(Problem)
    case other(any Error)

    init(_ error: any Error) {
        let error = error.asAFError ?? AFError.sessionTaskFailed(error: error)
        if let problem = error.underlyingError as? Problem {
            self = .problem(problem)
        } else if let code = error.responseCode {
            self = code == 401 ? .unauthorized : .server(code)
        } else if case .sessionTaskFailed(let underlying as URLError) = error {
            switch underlying.code {
            case .notConnectedToInternet, .networkConnectionLost: self = .offline
            case .timedOut: self = .timeout
            default: self = .other(underlying)
            }
        } else {
            self = .other(error)
        }
    }

    var errorDescription: String? {
        switch self {
        case .offline: "No connection"
        case .unauthorized: "Log in again"
        case .timeout: "Too slow"
        case .server(let code): "Error \(code)"
        case .problem(let problem): problem.error
        case .other(let error): error.localizedDescription
        }
    }
}

extension AFError {
    var isWorthRetrying: Bool {
        if isExplicitlyCancelledError || isServerTrustEvaluationError || isInvalidURLError { return false }
        return isSessionTaskError || (responseCode ?? 0) >= 500
    }

    var questions: [Bool] {
        [
            isCreateUploadableError, isCreateURLRequestError, isDownloadedFileMoveError, isMultipartEncodingError,
            isParameterEncoderError, isParameterEncodingError, isRequestAdaptationError, isRequestRetryError,
            isResponseSerializationError, isResponseValidationError, isSessionDeinitializedError,
            isSessionInvalidatedError,
        ]
    }

    var parts: [Any?] {
        [
            urlConvertible, url, underlyingError, acceptableContentTypes, responseContentType, responseCode,
            failedStringEncoding, sourceURL, destinationURL, errorDescription,
        ]
    }
}

func failing(_ error: any Error) -> AFError {
    error.asAFError(orFailWith: "Expected an AFError, found \(error)")
}

func throwing(_ url: URL, _ session: Session) async throws(APIError) -> Profile {
    do {
        return try await session.request(url).validate().serializingDecodable(Profile.self).value
    } catch {
        throw APIError(error)
    }
}
