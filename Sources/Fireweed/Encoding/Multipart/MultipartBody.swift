// A reader of encoded forms.

import FireweedTransport
import Foundation

/// Encodes a form while it is read; files and streams are opened when the reader reaches them.
final class MultipartBody: BodyReader, @unchecked Sendable {
    // SAFETY: after `init` only `read` changes state, and one serial queue, or one caller, calls `read`.
    private enum Stage {
        case head(Int)
        case content(Int)
        case end
        case over
    }

    let byteCount: Int64?
    private let parts: [MultipartPart]
    private let boundary: String
    private var stage: Stage
    /// Encoded bytes that are not yet read.
    private var pending = Data()
    private var reader: (any BodyReader)?
    private var readCount: UInt64 = 0

    init(parts: [MultipartPart], boundary: String) {
        self.parts = parts
        self.boundary = boundary
        stage = parts.isEmpty ? .end : .head(0)
        let framing = parts.indices.reduce(0) { $0 + Self.head(of: parts, at: $1, boundary).utf8.count }
        let content = parts.reduce(0) { $0 + $1.byteCount }
        byteCount = Int64(clamping: UInt64(framing + Self.tail(boundary).utf8.count) + content)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while pending.isEmpty {
            switch stage {
            case .head(let index):
                pending = Data(Self.head(of: parts, at: index, boundary).utf8)
                stage = .content(index)
            case .content(let index):
                if let count = try readContent(of: parts[index], into: buffer) { return count }
                stage = index + 1 < parts.count ? .head(index + 1) : .end
            case .end:
                pending = Data(Self.tail(boundary).utf8)
                stage = .over
            case .over: return 0
            }
        }
        let count = min(buffer.count, pending.count)
        pending.copyBytes(to: buffer, count: count)
        pending = pending.dropFirst(count)
        if pending.isEmpty { pending = Data() }
        return count
    }

    /// Reads the next bytes of a part into `buffer`, and returns their count; `nil` at the part's end.
    ///
    /// A part in memory becomes `pending` as a whole and is read from there.
    private func readContent(of part: MultipartPart, into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
        if case .data(let data) = part.content {
            if readCount == 0, !data.isEmpty {
                readCount = part.byteCount
                pending = data
                return try read(into: buffer)
            }
            readCount = 0
            return nil
        }
        do {
            let reader = try reader ?? Self.reader(of: part)
            self.reader = reader
            // Only as many bytes are read as were announced: the rest of a stream, or of a file that has grown, stays
            // unread.
            let room = UnsafeMutableRawBufferPointer(
                rebasing: buffer.prefix(Int(clamping: part.byteCount - readCount)))
            let count = room.isEmpty ? 0 : try reader.read(into: room)
            readCount += UInt64(count)
            guard count == 0 else { return count }
        } catch let error as AFError {
            throw error
        } catch {
            throw AFError.multipartEncodingFailed(reason: .inputStreamReadFailed(error: error))
        }
        guard readCount == part.byteCount else {
            let error = AFError.UnexpectedInputStreamLength(bytesExpected: part.byteCount, bytesRead: readCount)
            throw AFError.multipartEncodingFailed(reason: .inputStreamReadFailed(error: error))
        }
        reader = nil
        readCount = 0
        return nil
    }

    private static func reader(of part: MultipartPart) throws -> any BodyReader {
        switch part.content {
        case .data: throw CocoaError(.fileReadUnknown)  // data is pending at once and needs no reader
        case .file(let url, let identity):
            // A file that replaces another one of another length would be cut off.
            if let identity, let present = FormFile.Identity(url), present != identity,
                present.byteCount != part.byteCount
            {
                throw AFError.UnexpectedInputStreamLength(bytesExpected: part.byteCount, bytesRead: present.byteCount)
            }
            do {
                return try FileBodyReader(opening: url)
            } catch {
                throw AFError.multipartEncodingFailed(reason: .bodyPartInputStreamCreationFailed(for: url))
            }
        case .stream(let stream):
            guard let stream = stream.take() else { throw URLError(.requestBodyStreamExhausted) }
            return StreamBodyReader(opening: stream)
        }
    }

    /// The encoded form as the pieces of a `curl` command; adjacent bytes are one piece.
    static func shownContent(parts: [MultipartPart], boundary: String) -> CURLContent {
        var pieces: [CURLContent.Piece] = []
        var text = Data()
        for (index, part) in parts.enumerated() {
            text += Data(head(of: parts, at: index, boundary).utf8)
            switch part.content {
            case .data(let data): text += data
            case .file(let url, _):
                pieces += [.bytes(text), .file(url)]
                text = Data()
            case .stream:
                pieces += [.bytes(text), .stream]
                text = Data()
            }
        }
        return .pieces(pieces + [.bytes(text + Data(tail(boundary).utf8))])
    }

    private static func head(of parts: [MultipartPart], at index: Int, _ boundary: String) -> String {
        "\(index == 0 ? "" : "\r\n")--\(boundary)\r\n\(parts[index].head)"
    }

    private static func tail(_ boundary: String) -> String {
        "\r\n--\(boundary)--\r\n"
    }
}
