// Texts of errors for people.

import Foundation
import Glibc

extension Error {
    /// The error as text for people; for an error of this library or of Foundation, without type names and members.
    package var plainText: String {
        switch self {
        case let error as URLError: Self.described(error.userInfo) ?? error.localizedDescription
        case let error as POSIXError: String(cString: strerror(error.code.rawValue))
        case let error as CocoaError: error.textOfFile
        case let error as DecodingError: error.text
        case let error as EncodingError: error.text
        case is CancellationError: "the task was cancelled"
        case let error as any LocalizedError where error.errorDescription != nil: error.errorDescription ?? "\(self)"
        case let error as NSError where error.domain == NSPOSIXErrorDomain: String(cString: strerror(Int32(error.code)))
        case let error as NSError where type(of: self) is NSError.Type:
            Self.described(error.userInfo) ?? "\(error.domain) \(error.code)"
        default: "\(self)"
        }
    }

    fileprivate static func described(_ userInfo: [String: Any]) -> String? {
        userInfo[NSLocalizedDescriptionKey] as? String
    }
}

extension CocoaError {
    /// The reason, after the path of the file if the error names a file.
    fileprivate var textOfFile: String {
        if let text = Self.described(userInfo) { return text }
        let path = filePath ?? url?.path
        let reason = underlying.map { String(cString: strerror($0.code.rawValue)) } ?? ownReason
        return path.map { "\($0): \(reason)" } ?? reason
    }

    private var ownReason: String {
        if let text = userInfo[NSDebugDescriptionErrorKey] as? String { return text }
        return switch code {
        case .fileNoSuchFile, .fileReadNoSuchFile: String(cString: strerror(ENOENT))
        case .fileReadNoPermission, .fileWriteNoPermission: String(cString: strerror(EACCES))
        case .fileWriteFileExists: String(cString: strerror(EEXIST))
        case .fileWriteOutOfSpace: String(cString: strerror(ENOSPC))
        case .fileWriteVolumeReadOnly: String(cString: strerror(EROFS))
        case .userCancelled: "the operation was cancelled"
        case .fileReadInvalidFileName, .fileWriteInvalidFileName: "the name cannot be that of a file"
        case .fileReadUnknown: "it cannot be read"
        case .fileWriteUnknown: "it cannot be written"
        case .fileReadTooLarge: String(cString: strerror(EFBIG))
        default: "Foundation's error \(code.rawValue)"
        }
    }

    private var underlying: POSIXError? { userInfo[NSUnderlyingErrorKey] as? POSIXError }
}

extension DecodingError {
    /// The coding path and the reason.
    fileprivate var text: String {
        switch self {
        case .keyNotFound(let key, let context):
            Self.text(context.codingPath, "there is no value for “\(key.stringValue)”", context.underlyingError)
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            Self.text(context.codingPath, context.debugDescription, context.underlyingError)
        @unknown default: "the content has another form"
        }
    }

    fileprivate static func text(_ path: [any CodingKey], _ reason: String, _ underlying: (any Error)?) -> String {
        let place = path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        let cause = underlying.map { " (\($0.plainText))" } ?? ""
        return (place.isEmpty ? "" : "at \(place): ") + reason + cause
    }
}

extension EncodingError {
    /// The coding path and the reason.
    fileprivate var text: String {
        switch self {
        case .invalidValue(_, let context):
            DecodingError.text(context.codingPath, context.debugDescription, context.underlyingError)
        @unknown default: "the value cannot be encoded"
        }
    }
}
