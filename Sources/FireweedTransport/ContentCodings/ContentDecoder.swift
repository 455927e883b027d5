// Content codings, taken off in layers.

import Foundation

/// Takes the content codings of one response off (RFC 9110 §8.4).
///
/// Content comes out in pieces that are no larger than the buffer that is given for them: a consumer that pauses stops
/// decoding too, and the limits on content hold whatever a few bytes expand to. Used on one thread.
/// ```swift
/// while case let count = try decoder.decode(&bytes, into: buffer), count > 0 {
///     consume(buffer[..<count])  // a consumer that has enough leaves, and comes back with the same `bytes`
/// }
/// ```
package final class ContentDecoder {
    /// The first one has the content as it came, the last one gives what it stands for.
    private let layers: [any ContentCodingStream]
    private let names: [String]
    /// What each layer but the last has given, and the next has not taken.
    private var between: [Piece]

    private struct Piece {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceByteCount, alignment: 1)
        var rest: Range<Int> = 0..<0
    }

    /// The value of `Accept-Encoding` that says what can be decoded.
    package static let acceptedCodings = "deflate, gzip, br, zstd"
    /// More layers than this are refused, as by curl: each multiplies what a byte can expand to.
    package static let maximumLayerCount = 5
    /// How much is kept between two layers.
    static let pieceByteCount = 16 * 1024

    /// The versions of the libraries that decode, as `zlib/1.2.13 brotli/1.0.9 zstd/1.5.4`.
    static var libraryVersions: String {
        "zlib/\(InflateStream.libraryVersion) brotli/\(BrotliStream.libraryVersion) "
            + "zstd/\(ZstandardStream.libraryVersion)"
    }

    private init(_ layers: [any ContentCodingStream], names: [String]) {
        self.layers = layers
        self.names = names
        between = layers.dropFirst().map { _ in Piece() }
    }

    deinit {
        for piece in between { piece.bytes.deallocate() }
    }

    /// Makes a decoder for the value of `Content-Encoding`.
    ///
    /// `nil` when there is nothing to take off: no coding, or one that is not known, so that the content reaches the
    /// user as it came, as in browsers. Throws `cannotDecodeContentData` for more than `maximumLayerCount` codings.
    package static func make(for codings: String) throws(TransferFailure) -> ContentDecoder? {
        let names = names(in: codings)
        guard !names.isEmpty, names.allSatisfy(isKnown) else { return nil }
        guard names.count <= maximumLayerCount else {
            throw .badCoding(codings, "there are more than \(maximumLayerCount) content codings")
        }
        // The last coding of the list was put on last (RFC 9110 §8.4).
        let order = Array(names.reversed())
        let layers = order.compactMap(stream)
        guard layers.count == order.count else { throw .badCoding(codings, "there is no memory") }
        return ContentDecoder(layers, names: order)
    }

    /// The codings of a list, in lower case; `identity` is none (RFC 9110 §8.4.1), and some servers say `none` for it.
    private static func names(in list: String) -> [String] {
        list.unicodeScalars.split(separator: ",").compactMap { part in
            let name = String(part).lowercased().filter { $0 != " " && $0 != "\t" }
            return name.isEmpty || name == "identity" || name == "none" ? nil : name
        }
    }

    private static func isKnown(_ name: String) -> Bool {
        ["gzip", "x-gzip", "deflate", "br", "zstd"].contains(name)
    }

    /// What decodes one coding; `nil` when it is not known, or there is no memory.
    static func stream(of name: String) -> (any ContentCodingStream)? {
        switch name.lowercased() {
        case "gzip", "x-gzip": InflateStream(isGzip: true)
        case "deflate": InflateStream(isGzip: false)
        case "br": BrotliStream()
        case "zstd": ZstandardStream()
        default: nil
        }
    }

    /// Decodes from the front of `input` into `output`.
    ///
    /// - Returns: how many bytes were written; 0 when `input` is used up and nothing of it is left inside.
    /// - Throws: `cannotDecodeContentData` where the content is not what its codings say.
    package func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferFailure) -> Int {
        try decode(&input, into: output, layer: layers.count - 1)
    }

    private func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, layer: Int
    ) throws(TransferFailure) -> Int {
        guard layer > 0 else { return try layers[0].decode(&input, into: output) }
        while true {
            let piece = between[layer - 1]
            var rest = UnsafeRawBufferPointer(rebasing: piece.bytes[piece.rest])
            let count = try layers[layer].decode(&rest, into: output)
            between[layer - 1].rest = (piece.rest.upperBound - rest.count)..<piece.rest.upperBound
            if count > 0 { return count }
            let given = try decode(&input, into: piece.bytes, layer: layer - 1)
            if given == 0 { return 0 }
            between[layer - 1].rest = 0..<given
        }
    }

    /// Says that no more content comes; throws where a coding has not ended.
    ///
    /// - Parameters:
    ///   - isEmpty: whether the content had no bytes at all. Empty content is complete: many servers name a coding
    ///     where they send nothing.
    ///   - endedByClose: whether the close of the connection is the content's end (RFC 9112 §8). Only the codings tell
    ///     then whether all of the content came.
    /// - Throws: for a coding that has not ended, `networkConnectionLost` with `endedByClose`, else
    ///   `cannotDecodeContentData`.
    package func finish(isEmpty: Bool, endedByClose: Bool) throws(TransferFailure) {
        for (layer, name) in zip(layers, names) where !layer.isWhole || (isEmpty && endedByClose) {
            throw endedByClose
                ? .cutResponse("before the end of the content, which is coded as \(name)")
                : .badCoding(name, "it ends in the middle")
        }
    }
}
