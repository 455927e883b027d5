// `multipart/form-data` (RFC 7578).

import FireweedTransport
public import Foundation
import Glibc

/// A form with parts, which is encoded in memory or to a file, or sent directly from its parts.
///
/// The first append that fails is remembered and thrown when the form is encoded; later appends still work.
open class MultipartFormData {
    /// A form whose content is shorter than this is encoded in memory before it is sent: 10,000,000 bytes.
    public static let encodingMemoryThreshold: UInt64 = 10_000_000

    /// The most parts that the form may have; a form with more fails with ``MultipartFormDataError`` when it is
    /// encoded.
    ///
    /// Many servers have lower limits. Default: 10,000.
    public var maximumPartCount = 10_000
    /// Separates the parts.
    public let boundary: String
    private let fileManager: FileManager
    private var parts: [MultipartPart] = []
    private var failure: AFError?

    /// Makes an empty form.
    ///
    /// - Parameters:
    ///   - fileManager: finds the files that are added, and makes the file of `writeEncodedData(to:)`.
    ///   - boundary: separates the parts; `nil`, the default, makes a random boundary, which cannot occur in content by
    ///     chance.
    public init(fileManager: FileManager = .default, boundary: String? = nil) {
        self.fileManager = fileManager
        self.boundary = boundary ?? Self.randomBoundary()
    }

    /// The form's `Content-Type`: `multipart/form-data` with the boundary, unless you set another type.
    ///
    /// A content type that you set is sent unchanged if it has a `boundary` parameter, which must match the form's
    /// boundary. A `multipart/` type without that parameter is sent with the form's boundary. The content type replaces
    /// the request's own `Content-Type`.
    open lazy var contentType: String =
        // A boundary that is not a token is quoted (RFC 2046 §5.1.1).
        "multipart/form-data; \(boundaryParameter)"

    private var boundaryParameter: String {
        "boundary=\(boundary.isToken ? boundary : "\"\(boundary)\"")"
    }

    /// The content type that is sent: `contentType`, with the form's boundary if it is a `multipart/` type without a
    /// boundary (RFC 2046 §5.1.1).
    package var sentContentType: String {
        guard let type = MIMEType(contentType), type.type == "multipart", !type.hasBoundary else { return contentType }
        return "\(contentType); \(boundaryParameter)"
    }

    /// The length of the parts' content in bytes, without headers and boundaries.
    public var contentLength: UInt64 { parts.reduce(0) { $0 + $1.byteCount } }

    /// Adds a part with bytes.
    ///
    /// - Parameters:
    ///   - data: the content of the part.
    ///   - name: the name of the form's field.
    ///   - fileName: the file name that is sent to the server; `nil`, the default, for none.
    ///   - mimeType: the media type of the part; `nil`, the default, for none.
    public func append(_ data: Data, withName name: String, fileName: String? = nil, mimeType: String? = nil) {
        append(.data(data), UInt64(data.count), MultipartHeader.fields(name: name, fileName: fileName, type: mimeType))
    }

    /// Adds a part in memory, with header fields of your own.
    package func append(_ data: Data, _ fields: HTTPHeaders) {
        append(.data(data), UInt64(data.count), fields)
    }

    /// Adds a part with a file, under the file's own name.
    ///
    /// The media type follows from the name's extension. The file is read when the form is encoded or sent; a file that
    /// the kernel generates (`/proc`) is read by this call. This call fixes the length: bytes that are added later are
    /// not sent. A file that has become shorter, or was replaced by one of another length, makes encoding the form fail
    /// with `.inputStreamReadFailed(error:)` around an `AFError.UnexpectedInputStreamLength`.
    ///
    /// - Parameters:
    ///   - fileURL: the file, whose name has an extension; a file without an extension needs
    ///     `append(_:withName:fileName:mimeType:)`. A name without an extension, and a file that is missing or not a
    ///     regular file, make encoding the form fail with `AFError.multipartEncodingFailed(reason:)`.
    ///   - name: the name of the form's field.
    public func append(_ fileURL: URL, withName name: String) {
        let fileName = fileURL.lastPathComponent
        guard !fileName.isEmpty, !fileURL.pathExtension.isEmpty else {
            return fail(.bodyPartFilenameInvalid(in: fileURL))
        }
        append(
            fileURL, withName: name, fileName: fileName, mimeType: MediaTypes.type(ofExtension: fileURL.pathExtension))
    }

    /// Adds a part with a file, under another name.
    ///
    /// The file is read when the form is encoded or sent; a file that the kernel generates (`/proc`) is read by this
    /// call. This call fixes the length: bytes that are added later are not sent. A file that has become shorter, or
    /// was replaced by one of another length, makes encoding the form fail with `.inputStreamReadFailed(error:)` around
    /// an `AFError.UnexpectedInputStreamLength`.
    ///
    /// - Parameters:
    ///   - fileURL: the file. A file that is missing, or not a regular file, makes encoding the form fail with
    ///     `AFError.multipartEncodingFailed(reason:)`.
    ///   - name: the name of the form's field.
    ///   - fileName: the file name that is sent to the server.
    ///   - mimeType: the media type of the part.
    public func append(_ fileURL: URL, withName name: String, fileName: String, mimeType: String) {
        append(fileURL, MultipartHeader.fields(name: name, fileName: fileName, type: mimeType))
    }

    /// Adds a part with a file, and header fields of your own; otherwise like `append(_:withName:fileName:mimeType:)`.
    package func append(_ fileURL: URL, _ fields: HTTPHeaders) {
        guard fileURL.isFileURL else { return fail(.bodyPartURLInvalid(url: fileURL)) }
        var isFolder: ObjCBool = false
        guard fileManager.fileExists(atPath: fileURL.path, isDirectory: &isFolder) else {
            return fail(Self.reasonForMissing(fileURL))
        }
        guard !isFolder.boolValue else { return fail(.bodyPartFileIsDirectory(at: fileURL)) }
        do {
            let attributes = try fileManager.attributesOfItem(atPath: fileURL.path)
            guard let size = try FormFile.byteCount(of: fileURL, attributes) else {
                return fail(.bodyPartFileSizeNotAvailable(at: fileURL))
            }
            if let data = try FormFile.contentOfKernelFile(fileURL, byteCount: size) {
                append(.data(data), UInt64(data.count), fields)
            } else {
                append(.file(fileURL, FormFile.Identity(fileURL)), size, fields)
            }
        } catch let reason as FormFile.Refusal {
            fail(reason.reason)
        } catch {
            fail(.bodyPartFileSizeQueryFailedWithError(forURL: fileURL, error: error))
        }
    }

    /// Adds a part with the first `length` bytes of a stream.
    ///
    /// - Parameters:
    ///   - stream: the stream, which is opened and read once, when the form is encoded or sent.
    ///   - length: the length of the part in bytes. A stream that has fewer bytes makes encoding the form fail with
    ///     `.inputStreamReadFailed(error:)` around an `AFError.UnexpectedInputStreamLength`; further bytes are not
    ///     read.
    ///   - name: the name of the form's field.
    ///   - fileName: the file name that is sent to the server.
    ///   - mimeType: the media type of the part.
    public func append(
        _ stream: InputStream, withLength length: UInt64, name: String, fileName: String, mimeType: String
    ) {
        append(
            stream, withLength: length, headers: MultipartHeader.fields(name: name, fileName: fileName, type: mimeType))
    }

    /// Adds a part with the first `length` bytes of a stream, and header fields of your own.
    ///
    /// - Parameters:
    ///   - stream: the stream, which is opened and read once, when the form is encoded or sent.
    ///   - length: the length of the part in bytes. A stream that has fewer bytes makes encoding the form fail with
    ///     `.inputStreamReadFailed(error:)` around an `AFError.UnexpectedInputStreamLength`; further bytes are not
    ///     read.
    ///   - headers: all header fields of the part, `Content-Disposition` among them.
    public func append(_ stream: InputStream, withLength length: UInt64, headers: HTTPHeaders) {
        append(.stream(OneShotStream(stream)), length, headers)
    }

    /// The whole form in memory; throws `AFError.multipartEncodingFailed(reason:)`.
    public func encode() throws -> Data {
        let body = try body()
        var data = Data()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
        defer { buffer.deallocate() }
        while case let count = try body.read(into: buffer), count > 0 {
            data.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
        return data
    }

    /// Writes the whole form to a new file, with little memory; throws `AFError.multipartEncodingFailed(reason:)`.
    public func writeEncodedData(to fileURL: URL) throws {
        if let failure { throw failure }
        guard fileURL.isFileURL else {
            throw AFError.multipartEncodingFailed(reason: .outputStreamURLInvalid(url: fileURL))
        }
        guard !fileManager.fileExists(atPath: fileURL.path) else {
            throw AFError.multipartEncodingFailed(reason: .outputStreamFileAlreadyExists(at: fileURL))
        }
        guard fileManager.createFile(atPath: fileURL.path, contents: nil),
            let file = FileHandle(forWritingAtPath: fileURL.path)
        else { throw AFError.multipartEncodingFailed(reason: .outputStreamCreationFailed(for: fileURL)) }
        let body = try body()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 * 1024, alignment: 16)
        defer { buffer.deallocate() }
        while case let count = try body.read(into: buffer), count > 0 {
            do {
                try file.write(contentsOf: Data(buffer[..<count]))
            } catch {
                throw AFError.multipartEncodingFailed(reason: .outputStreamWriteFailed(error: error))
            }
        }
        try file.close()
    }

    /// Returns a reader of the encoded form; throws the failure of the first append that failed.
    func body() throws -> MultipartBody { try bodies()() }

    /// Returns a maker of readers of the form as it is now; throws like `body()`.
    func bodies() throws -> @Sendable () -> MultipartBody {
        if let failure { throw failure }
        return { [parts, boundary] in MultipartBody(parts: parts, boundary: boundary) }
    }

    /// Returns the form as content for several messages: each message reads the form from its start.
    func source() throws -> MessageContent {
        if let failure { throw failure }
        let (parts, boundary) = (parts, boundary)
        return .reader { MultipartBody(parts: parts, boundary: boundary) }
    }

    /// Whether a part's stream has already been taken, so that the form cannot be sent from its parts again.
    var isUsedUp: Bool {
        parts.contains { part in
            if case .stream(let stream) = part.content { stream.isUsedUp } else { false }
        }
    }

    /// The form in a `curl` command.
    var shownContent: CURLContent { MultipartBody.shownContent(parts: parts, boundary: boundary) }

    private func append(_ content: MultipartPart.Content, _ byteCount: UInt64, _ headers: HTTPHeaders) {
        guard parts.count < maximumPartCount else { return fail(.tooManyParts(limit: maximumPartCount)) }
        if let name = FieldSyntax.firstBrokenName(in: headers) { return fail(.invalidHeaderField(name: name)) }
        parts.append(MultipartPart(headers: headers, content: content, byteCount: byteCount))
    }

    private func fail(_ error: MultipartFormDataError) {
        fail(.outputStreamWriteFailed(error: error))
    }

    private func fail(_ reason: AFError.MultipartEncodingFailureReason) {
        failure = failure ?? .multipartEncodingFailed(reason: reason)
    }

    /// Returns the reason with the error of `stat`, or without an error if `stat` finds a file that the file manager
    /// does not find.
    private static func reasonForMissing(_ url: URL) -> AFError.MultipartEncodingFailureReason {
        BlockingCall.check("stat")
        var status = stat()
        guard stat(url.path, &status) != 0, let code = POSIXErrorCode(rawValue: errno) else {
            return .bodyPartFileNotReachable(at: url)
        }
        return .bodyPartFileNotReachableWithError(atURL: url, error: POSIXError(code))
    }

    private static func randomBoundary() -> String {
        let high = UInt32.random(in: .min ... .max)
        let low = UInt32.random(in: .min ... .max)
        return String(format: "alamofire.boundary.%08x%08x", high, low)
    }
}
