import Alamofire
import Foundation

/// Names every case of the error and of its reasons, without a default.
public func text(of error: AFError) -> String {
    switch error {
    case .createUploadableFailed(let error): "uploadable \(error)"
    case .createURLRequestFailed(let error): "request \(error)"
    case .downloadedFileMoveFailed(let error, let source, let destination): "\(error) \(source) \(destination)"
    case .explicitlyCancelled: "cancelled"
    case .invalidURL(let url): "URL \(url)"
    case .multipartEncodingFailed(let reason): text(of: reason)
    case .parameterEncodingFailed(let reason): text(of: reason)
    case .parameterEncoderFailed(let reason): text(of: reason)
    case .requestAdaptationFailed(let error): "adapter \(error)"
    case .requestRetryFailed(let retryError, let originalError): "\(retryError) \(originalError)"
    case .responseValidationFailed(let reason): text(of: reason)
    case .responseSerializationFailed(let reason): text(of: reason)
    case .serverTrustEvaluationFailed(let reason): text(of: reason)
    case .sessionDeinitialized: "session gone"
    case .sessionInvalidated(let error): "session invalid \(error as Any)"
    case .sessionTaskFailed(let error): "task \((error as? URLError)?.code.rawValue ?? 0)"
    case .urlRequestValidationFailed(let reason): text(of: reason)
    }
}

private func text(of reason: AFError.MultipartEncodingFailureReason) -> String {
    switch reason {
    case .bodyPartURLInvalid(let url): "\(url)"
    case .bodyPartFilenameInvalid(let url): "\(url)"
    case .bodyPartFileNotReachable(let url): "\(url)"
    case .bodyPartFileNotReachableWithError(let url, let error): "\(url) \(error)"
    case .bodyPartFileIsDirectory(let url): "\(url)"
    case .bodyPartFileSizeNotAvailable(let url): "\(url)"
    case .bodyPartFileSizeQueryFailedWithError(let url, let error): "\(url) \(error)"
    case .bodyPartInputStreamCreationFailed(let url): "\(url)"
    case .outputStreamCreationFailed(let url): "\(url)"
    case .outputStreamFileAlreadyExists(let url): "\(url)"
    case .outputStreamURLInvalid(let url): "\(url)"
    case .outputStreamWriteFailed(let error): "\(error)"
    case .inputStreamReadFailed(let error): "\(error)"
    }
}

private func text(of reason: AFError.ParameterEncodingFailureReason) -> String {
    switch reason {
    case .missingURL: "no URL"
    case .jsonEncodingFailed(let error), .customEncodingFailed(let error): "\(error)"
    }
}

private func text(of reason: AFError.ParameterEncoderFailureReason) -> String {
    switch reason {
    case .missingRequiredComponent(let component):
        switch component {
        case .url: "no URL"
        case .httpMethod(let rawValue): rawValue
        }
    case .encoderFailed(let error): "\(error)"
    }
}

private func text(of reason: AFError.ResponseValidationFailureReason) -> String {
    switch reason {
    case .dataFileNil: "no file"
    case .dataFileReadFailed(let url): "\(url)"
    case .missingContentType(let acceptable): acceptable.joined()
    case .unacceptableContentType(let acceptable, let found): "\(acceptable) \(found)"
    case .unacceptableStatusCode(let code): "status \(code)"
    case .customValidationFailed(let error): "\(error)"
    }
}

private func text(of reason: AFError.ResponseSerializationFailureReason) -> String {
    switch reason {
    case .inputDataNilOrZeroLength: "empty"
    case .inputFileNil: "no file"
    case .inputFileReadFailed(let url): "\(url)"
    case .stringSerializationFailed(let encoding): "\(encoding)"
    case .jsonSerializationFailed(let error): "\(error)"
    case .decodingFailed(let error): "\(error)"
    case .customSerializationFailed(let error): "\(error)"
    case .invalidEmptyResponse(let type): type
    }
}

private func text(of reason: AFError.URLRequestValidationFailureReason) -> String {
    switch reason {
    case .bodyDataInGETRequest(let data): "\(data.count) bytes in a GET"
    }
}
