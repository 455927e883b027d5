// What makes the content of an upload.

import FireweedTransport
import Foundation
import FoundationNetworking
import Glibc
import Synchronization

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

/// What an upload sends; of forms and async sequences also what makes an `Uploadable` for those who ask.
final class UploadContent: UploadableConvertible {
    private let make: @Sendable () throws -> BodySource
    private let made = Mutex<Result<BodySource, any Error>?>(nil)

    /// Calls `make` when the content is needed: parts may be added to a form until then.
    init(_ make: @escaping @Sendable () throws -> BodySource) {
        self.make = make
    }

    /// What is sent, made at the first call; every attempt sends the same.
    var source: Result<BodySource, any Error> {
        if let made = made.withLock({ $0 }) { return made }
        let result = Result { try make() }  // outside the lock: it reads the caller's streams
        return made.withLock { made in
            let first = made ?? result
            made = first
            return first
        }
    }

    /// The content in memory, once it is made.
    var data: Data? {
        if case .success(.data(let data)) = made.withLock({ $0 }) { data } else { nil }
    }

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

/// Why the content of an upload could not be made.
struct UploadableFailure: Error {
    let error: AFError
}

/// A form that belongs to a request.
struct UploadedForm: @unchecked Sendable {
    // SAFETY: the caller hands the form over. It may add parts until the request is made, as its convertible may while it makes the
    // `URLRequest`; from then on the request alone reads the form, one thread at a time.
    let form: MultipartFormData

    /// The form in memory below the threshold, otherwise straight from its parts.
    func source(below threshold: UInt64) throws -> BodySource {
        form.contentLength < threshold ? .data(try form.encode()) : try form.source()
    }
}
