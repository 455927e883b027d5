// Types that produce the content of an upload.

import Foundation

/// Makes the content of an upload.
public protocol UploadableConvertible: Sendable {
    /// The content to send; throws when it cannot be made.
    func createUploadable() throws -> UploadRequest.Uploadable
}

/// Makes a request together with its content.
public protocol UploadConvertible: UploadableConvertible, URLRequestConvertible {}

extension UploadRequest.Uploadable: UploadableConvertible {
    /// The value itself.
    public func createUploadable() throws -> UploadRequest.Uploadable { self }
}
