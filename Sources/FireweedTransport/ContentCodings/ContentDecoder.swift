// Decoding of content codings, in layers.

import Foundation

/// Decodes the content of one response (RFC 9110 §8.4).
///
/// Content comes out in pieces that are no larger than the buffer that is given for them: a consumer that pauses stops
/// decoding too. The output of every layer is counted against the limits on content, since one layer can expand greatly
/// what the next layer makes small again. Used on one thread.
/// ```swift
/// while case .bytes(let count) = try decoder.decode(&bytes, into: buffer, turn: &turn) {
///     consume(buffer[..<count])  // a consumer that has enough leaves, and comes back with the same `bytes`
/// }
/// ```
package final class ContentDecoder {
    /// The result of decoding.
    package enum DecodeResult: Equatable {
        /// This number of bytes was written, at least one.
        case bytes(Int)
        /// The input is used up, and no output is pending.
        case needsInput
        /// The turn of the loop is over; the rest of the input is for a later one.
        case paused
    }

    /// The first layer takes the received content; the last layer gives the decoded content.
    private let layers: [any ContentCodingStream]
    private let names: [String]
    private let limits: ContentLimits
    /// The output of each layer but the last that the next layer has not taken.
    private var between: [Piece]
    /// The number of bytes that each layer has given.
    private var givenByteCounts: [Int64]
    /// The number of bytes that the first layer has taken.
    private var takenByteCount: Int64 = 0
    /// The layer that works next.
    private var level: Int

    private struct Piece {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceByteCount, alignment: 1)
        var rest: Range<Int> = 0..<0
    }

    /// The codings that can be decoded, in the order in which `Accept-Encoding` names them.
    private static let codings = {
        var names = ["deflate", "gzip"]
        #if Brotli
        names.append("br")
        #endif
        #if Zstd
        names.append("zstd")
        #endif
        return names
    }()
    /// The value of `Accept-Encoding` that lists the codings that can be decoded.
    package static let acceptedCodings = codings.dropFirst().reduce(codings[0]) { "\($0), \($1)" }
    /// The most bytes that are kept between two layers.
    static let pieceByteCount = 16 * 1024
    /// The most input of one step: input that decodes to nothing can cost much work.
    private static let stepByteCount = 32 * 1024

    /// The versions of the libraries that decode, as `zlib/1.2.13 brotli/1.0.9 zstd/1.5.4`.
    static var libraryVersions: String {
        var versions = "zlib/\(InflateStream.libraryVersion)"
        #if Brotli
        versions += " brotli/\(BrotliStream.libraryVersion)"
        #endif
        #if Zstd
        versions += " zstd/\(ZstandardStream.libraryVersion)"
        #endif
        return versions
    }

    private init(_ layers: [any ContentCodingStream], names: [String], limits: ContentLimits) {
        self.layers = layers
        self.names = names
        self.limits = limits
        level = layers.count - 1
        givenByteCounts = layers.map { _ in 0 }
        between = layers.dropFirst().map { _ in Piece() }
    }

    deinit {
        for piece in between { piece.bytes.deallocate() }
    }

    /// Makes a decoder for the value of `Content-Encoding`.
    ///
    /// `nil` when nothing can be decoded: there is no coding, or one of them is unknown, so that the content reaches
    /// the user as received, as in browsers. Throws `cannotDecodeContentData` for more codings than the limits allow:
    /// each multiplies what a byte can expand to.
    package static func make(for codings: String, limits: ContentLimits) throws(TransferFailure) -> ContentDecoder? {
        let names = names(in: codings)
        guard !names.isEmpty, names.allSatisfy(isKnown) else { return nil }
        guard names.count <= limits.maximumCodingCount else {
            throw .badCoding(codings, "there are more than \(limits.maximumCodingCount) content codings")
        }
        // The last coding of the list was applied last (RFC 9110 §8.4).
        let order = Array(names.reversed())
        let layers = order.compactMap(stream)
        guard layers.count == order.count else { throw .badCoding(codings, "there is no memory") }
        return ContentDecoder(layers, names: order, limits: limits)
    }

    /// The codings of a list, in lower case; `identity` is none (RFC 9110 §8.4.1), and some servers say `none` for it.
    private static func names(in list: String) -> [String] {
        list.unicodeScalars.split(separator: ",").compactMap { part in
            let name = String(part).lowercased().filter { $0 != " " && $0 != "\t" }
            return name.isEmpty || name == "identity" || name == "none" ? nil : name
        }
    }

    private static func isKnown(_ name: String) -> Bool {
        name == "x-gzip" || codings.contains(name)
    }

    /// Makes the decoder of one coding; `nil` when the coding is unknown, or there is no memory.
    static func stream(of name: String) -> (any ContentCodingStream)? {
        switch name.lowercased() {
        case "gzip", "x-gzip": InflateStream(isGzip: true)
        case "deflate": InflateStream(isGzip: false)
        #if Brotli
        case "br": BrotliStream()
        #endif
        #if Zstd
        case "zstd": ZstandardStream()
        #endif
        default: nil
        }
    }

    /// Decodes from the front of `input` into `output`, at least one step and as far as the turn allows.
    ///
    /// - Throws: `cannotDecodeContentData` where the content is not what its codings say; the refusal where a layer
    ///   gives more than the limits on content allow.
    package func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, turn: inout TurnBudget
    ) throws(TransferFailure) -> DecodeResult {
        let last = layers.count - 1
        let received = takenByteCount + Int64(input.count)
        repeat {
            let (taken, given) = try step(&input, into: level == last ? output : between[level].bytes)
            turn.noteDecoded(max(taken, given))
            givenByteCounts[level] += Int64(given)
            if let refusal = limits.refusal(decoded: givenByteCounts[level], received: received) {
                throw .refused(refusal)
            }
            if given > 0 {
                guard level < last else { return .bytes(given) }
                between[level].rest = 0..<given
                level += 1
            } else if level > 0 {
                level -= 1
            } else if input.isEmpty {
                level = last
                return .needsInput
            }
        } while !turn.isOver
        return .paused
    }

    /// Runs the current layer once, on its input.
    private func step(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(TransferFailure) -> (taken: Int, given: Int) {
        guard level == 0 else {
            let piece = between[level - 1]
            var rest = UnsafeRawBufferPointer(rebasing: piece.bytes[piece.rest])
            let given = try layers[level].decode(&rest, into: output)
            between[level - 1].rest = (piece.rest.upperBound - rest.count)..<piece.rest.upperBound
            return (piece.rest.count - rest.count, given)
        }
        let before = UnsafeRawBufferPointer(rebasing: input.prefix(Self.stepByteCount))
        var rest = before
        let given = try layers[0].decode(&rest, into: output)
        let taken = before.count - rest.count
        takenByteCount += Int64(taken)
        input = input.advanced(by: taken)
        return (taken, given)
    }

    /// Notifies the decoder that no more content comes; throws where a coding has not ended.
    ///
    /// - Parameters:
    ///   - isEmpty: whether the content had no bytes at all. Empty content is complete, unless `endedByClose`: many
    ///     servers name a coding where they send nothing.
    ///   - endedByClose: whether the close of the connection is the content's end (RFC 9112 §8). Then only the codings
    ///     show whether the content is complete.
    /// - Throws: `networkConnectionLost` with `endedByClose`, for empty content too, else `cannotDecodeContentData`.
    package func finish(isEmpty: Bool, endedByClose: Bool) throws(TransferFailure) {
        for (layer, name) in zip(layers, names) where !layer.isWhole || (isEmpty && endedByClose) {
            throw endedByClose
                ? .cutResponse("before the end of the content, which is coded as \(name)")
                : .badCoding(name, "it ends in the middle")
        }
    }
}
