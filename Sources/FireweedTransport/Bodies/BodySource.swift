// The source of a request's content.

public import Foundation

/// The content of a request message.
public enum BodySource: Sendable {
    /// No content; methods that expect content (POST, PUT, PATCH) announce a length of zero.
    case none
    /// Bytes in memory, which can be sent again.
    case data(Data)
    /// Bytes that a reader provides while they are sent.
    ///
    /// `make` is called once for each exchange that sends the content, and again if the content has to be sent again.
    /// `EngineTransport` calls it on an event loop, where it must not block: your own reader should open its source at
    /// the first read. The `make` of an uploaded file opens the file, and may block on a disk.
    case reader(make: @Sendable () throws -> any BodyReader)
}

/// Provides the content of a request, piece by piece.
///
/// `read(into:)` is called on threads that may block, never on the loop. The number of these threads is limited: if all
/// of them are blocked in calls that do not return, requests fail with `URLError.cannotOpenFile`. Calls of one reader
/// never overlap, except for `stop()`.
public protocol BodyReader: AnyObject, Sendable {
    /// The total length in bytes; `nil` if it is unknown: HTTP/1.1 then sends chunks (RFC 9112 §7.1).
    var byteCount: Int64? { get }
    /// Fills the buffer from its start, and returns the number of bytes written; 0 means the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
    /// Reads like `read(into:)`, but without blocking, on the loop; returns `nil` if the next bytes are not available
    /// yet.
    ///
    /// After `nil` it is not called again. The default implementation returns `nil`.
    func readAtOnce(into buffer: UnsafeMutableRawBufferPointer) throws -> Int?
    /// Reads like `read(into:)`, for a reader that may wait long: returns at once, and occupies no thread.
    ///
    /// The default implementation calls `read(into:)`.
    ///
    /// - Parameters:
    ///   - buffer: the memory to fill from its start; the reader may use it until it calls `completion`.
    ///   - completion: gets the number of bytes read, 0 at the end. Call it once, on any thread.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, completion: @escaping @Sendable (Result<Int, any Error>) -> Void)
    /// Notifies the reader that no more bytes are needed: a waiting read may end early. The default does nothing.
    func stop()
}

extension BodyReader {
    /// Returns `nil`, which means that every read may have to wait.
    public func readAtOnce(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? { nil }

    /// Calls `read(into:)`.
    public func read(
        into buffer: UnsafeMutableRawBufferPointer, completion: @escaping @Sendable (Result<Int, any Error>) -> Void
    ) {
        completion(Result { try read(into: buffer) })
    }

    /// Does nothing.
    public func stop() {}
}
