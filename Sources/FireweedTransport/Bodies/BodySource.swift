// The source of a request's content.

public import Foundation

/// The content of a request message.
public enum BodySource: Sendable {
    /// No content. Methods that expect some (POST, PUT, PATCH) announce a length of zero.
    case none
    /// Bytes in memory; can be sent again.
    case data(Data)
    /// Bytes that a reader gives while they are sent.
    ///
    /// `make` is called once for each exchange that sends the content, and again when the content has to be sent again.
    /// `EngineTransport` calls it on an event loop, where it must not wait: your own reader opens its source at the
    /// first read. The `make` of an uploaded file opens the file, and may wait for a disk.
    case reader(make: @Sendable () throws -> any BodyReader)
}

/// Gives the content of a request, piece by piece.
///
/// `read(into:)` is called on threads that may wait, never on the loop. Their number is bounded: where all of them wait
/// for calls that do not return, requests fail with `URLError.cannotOpenFile`. No two calls of a reader run at the same
/// time, apart from `stop()`.
public protocol BodyReader: AnyObject, Sendable {
    /// The whole length in bytes, or `nil` when it is not known, so that HTTP/1.1 sends chunks (RFC 9112 §7.1).
    var byteCount: Int64? { get }
    /// Fills the buffer from its start and returns how many bytes that were; 0 is the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
    /// Reads as `read(into:)` does, but without waiting, on the loop: `nil` when the next bytes are not there yet.
    ///
    /// After `nil` it is not called again. The default implementation returns `nil`.
    func readAtOnce(into buffer: UnsafeMutableRawBufferPointer) throws -> Int?
    /// Reads as `read(into:)` does, for a reader that may wait long: returns at once, and occupies no thread.
    ///
    /// The default implementation calls `read(into:)`.
    ///
    /// - Parameters:
    ///   - buffer: memory to fill from its start; the reader may use it until it calls `completion`.
    ///   - completion: takes how many bytes were read, 0 at the end. Call it once, on any thread.
    func read(
        into buffer: UnsafeMutableRawBufferPointer, completion: @escaping @Sendable (Result<Int, any Error>) -> Void)
    /// Notifies the reader that no more bytes are wanted: a read that waits may end early. The default does nothing.
    func stop()
}

extension BodyReader {
    /// Returns `nil`: every read may have to wait.
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
