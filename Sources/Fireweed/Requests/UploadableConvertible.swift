// What makes the content of an upload.

import FireweedTransport
import Foundation
import FoundationNetworking
import Glibc

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

/// A form, which is sent from memory or straight from its parts, or an async sequence.
struct FormUpload: UploadableConvertible {
    let source: Result<BodySource, any Error>

    /// The form in memory or, for one that is sent from its parts, a copy in a temporary file, which is made for this call.
    func createUploadable() throws -> UploadRequest.Uploadable {
        switch try source.get() {
        case .none: return .data(Data())
        case .data(let data): return .data(data)
        case .reader(let make):
            let file = try OwnedFile()
            try Self.copy(make(), to: file.url)
            file.handOver()
            return .file(file.url, shouldRemove: true)
        }
    }

    private static func copy(_ reader: any BodyReader, to url: URL) throws {
        let descriptor = open(url.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileFailure.current(.create, url).urlError }
        let output = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var block = Data(count: 64 * 1024)
        while true {
            let count = try block.withUnsafeMutableBytes { try reader.read(into: $0) }
            if count == 0 { return }
            try output.write(contentsOf: block.prefix(count))
        }
    }
}
