// The content of a request as an `InputStream`, for `URLProtocol` classes.

import FireweedTransport
import Foundation
import Synchronization

extension MessageContent {
    /// Returns the content as an unopened stream; `nil` without content.
    func makeInputStream() -> InputStream? {
        switch self {
        case .none: nil
        // `InputStream(data:)` is not used: on Linux its `streamError` traps when there is no error.
        case .data(let data): BodyInputStream { DataReader(data) }
        case .file(let url): BodyInputStream { try FileBodyReader(opening: url) }
        case .reader(let make): BodyInputStream(make)
        }
    }
}

/// Reads the content of a request; the reader is made when the stream is opened.
///
/// Like every stream, it may be used on only one thread at a time; only `interrupt()` may be called on any thread.
/// Reading blocks until bytes come.
final class BodyInputStream: InputStream {
    private let make: @Sendable () throws -> any BodyReader
    private let reader = Mutex<(any BodyReader)?>(nil)
    private var status = Stream.Status.notOpen
    private var error: (any Error)?

    init(_ make: @escaping @Sendable () throws -> any BodyReader) {
        self.make = make
        super.init(data: Data())
    }

    deinit { interrupt() }

    /// Ends a read that waits for bytes; may be called on any thread.
    func interrupt() {
        reader.withLock { $0 }?.stop()
    }

    override func open() {
        guard status == .notOpen else { return }
        do {
            let made = try make()
            reader.withLock { $0 = made }
            status = .open
        } catch {
            fail(error)
        }
    }

    override func close() {
        interrupt()
        reader.withLock { $0 = nil }
        if status != .error { status = .closed }
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        guard let reader = reader.withLock({ $0 }), status == .open, maxLength > 0 else {
            return status == .atEnd ? 0 : -1
        }
        do {
            let count = try reader.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: maxLength))
            if count == 0 { status = .atEnd }
            return count
        } catch {
            fail(error)
            return -1
        }
    }

    private func fail(_ error: any Error) {
        self.error = error
        status = .error
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool { false }

    override var hasBytesAvailable: Bool { status == .open }
    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? { error }
}

/// Reads content that is in memory.
private final class DataReader: BodyReader {
    private let rest: Mutex<Data>
    let byteCount: Int64?

    init(_ data: Data) {
        byteCount = Int64(data.count)
        rest = Mutex(data)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        rest.withLock { rest in
            let count = rest.copyBytes(to: buffer)
            rest = rest.dropFirst(count)
            return count
        }
    }
}
