// Errors in an archive or in its use.

public import Foundation

/// An HTTP archive cannot be read, or lacks the response to a request; the description names the fault and its place.
public struct RecordingError: Error, Sendable, CustomStringConvertible, LocalizedError {
    /// The reason, with the place in the archive, such as `log.entries[3].response.content.text`.
    public let description: String
    /// The description.
    public var errorDescription: String? { description }

    init(_ description: String) {
        self.description = description
    }

    /// Makes an error from a decoder's error.
    init(_ error: DecodingError) {
        let (context, reason) =
            switch error {
            case .keyNotFound(let key, let context): (context, "\(key.stringValue) is missing")
            case .valueNotFound(_, let context): (context, "null is not allowed here")
            case .typeMismatch(let type, let context): (context, "a value of another type than \(type)")
            case .dataCorrupted(let context): (context, context.debugDescription)
            @unknown default: (DecodingError.Context(codingPath: [], debugDescription: ""), "\(error)")
            }
        let path = context.codingPath.reduce(into: "") { path, key in
            if let index = key.intValue {
                path += "[\(index)]"
            } else {
                path += path.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
        self.init("This is no HTTP archive (HAR)\(path.isEmpty ? "" : ", at \(path)"): \(reason)")
    }
}
