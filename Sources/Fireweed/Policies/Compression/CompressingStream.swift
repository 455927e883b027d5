// An `InputStream` that compresses another stream.

import FireweedTransport
import Foundation

/// An `InputStream` that compresses another stream; replaces a request's `httpBodyStream`.
///
/// The stream has one reader, and is read once, to its end.
final class CompressingStream: InputStream {
    private let source: InputStream
    private let coding: RequestCoding
    private var reader: CompressingReader?
    private var status = Stream.Status.notOpen
    private var failure: (any Error)?

    init(_ source: InputStream, _ coding: RequestCoding) {
        self.source = source
        self.coding = coding
        super.init(data: Data())
    }

    override var streamStatus: Stream.Status { status }
    override var streamError: (any Error)? { failure }
    override var hasBytesAvailable: Bool { status == .open }

    override func open() {
        guard status == .notOpen else { return }
        do {
            reader = try CompressingReader(StreamBodyReader(opening: source), coding)
            status = .open
        } catch {
            fail(error)
        }
    }

    override func close() {
        reader = nil
        status = .closed
    }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        guard let reader, status == .open else { return status == .error ? -1 : 0 }
        do {
            let count = try reader.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: length))
            if count == 0, length > 0 { status = .atEnd }
            return count
        } catch {
            fail(error)
            return -1
        }
    }

    override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool {
        false
    }

    private func fail(_ error: any Error) {
        failure = error
        status = .error
    }
}
