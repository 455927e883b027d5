// What makes the content of an upload.

import Foundation

/// Makes what an upload sends.
public protocol UploadableConvertible: Sendable {
    /// What to send; throws when it cannot be made.
    func createUploadable() throws -> UploadRequest.Uploadable
}

/// Makes a request together with what it sends.
public protocol UploadConvertible: UploadableConvertible, URLRequestConvertible {}

extension UploadRequest.Uploadable: UploadableConvertible {
    /// Itself.
    public func createUploadable() throws -> UploadRequest.Uploadable { self }
}
