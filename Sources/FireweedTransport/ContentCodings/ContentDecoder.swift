// The decoding of a response's content codings, in layers.

import Foundation

/// Decodes the content of one response (RFC 9110 §8.4).
///
/// Decoded content comes in pieces of at most the size of the caller's buffer, so a consumer that pauses also stops
/// decoding. The limits on content apply to the output of every layer, since one layer may expand greatly what the next
/// layer makes small again. Used on one thread.
/// ```swift
/// while case .bytes(let count) = try decoder.decode(&bytes, into: buffer, turn: &turn) {
///     consume(buffer[..<count])  // a consumer that has enough leaves, and comes back with the same `bytes`
/// }
/// ```
package final class ContentDecoder {
    /// The result of decoding.
    package enum DecodeResult: Equatable {
        /// This number of bytes was written; at least one.
        case bytes(Int)
        /// The input is used up, and no output is pending.
        case needsInput
        /// The turn of the loop is over; decode the rest of the input in a later turn.
        case paused
    }

    /// The layers: the first gets the received content, and the last returns the decoded content.
    private let layers: [any ContentCodingStream]
    private let names: [String]
    private let limits: ContentLimits
    /// For each layer but the last, the output that the next layer has not read.
    private var between: [Piece]
    /// The number of bytes that each layer has written.
    private var givenByteCounts: [Int64]
    /// The number of bytes that the first layer has read.
    private var takenByteCount: Int64 = 0
    /// The index of the layer that works next.
    private var level: Int

    private struct Piece {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: pieceByteCount, alignment: 1)
        var rest: Range<Int> = 0..<0
    }

    /// The supported codings, in the order of `Accept-Encoding`.
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
    /// The value of `Accept-Encoding` with the supported codings.
    package static let acceptedCodings = codings.dropFirst().reduce(codings[0]) { "\($0), \($1)" }
    /// The most bytes that are buffered between two layers.
    static let pieceByteCount = 16 * 1024
    /// The most input of one step, since input that decodes to nothing can take much work.
    private static let stepByteCount = 32 * 1024

    /// The versions of the decoding libraries, such as `zlib/1.2.13 brotli/1.0.9 zstd/1.5.4`.
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
    /// The result is `nil` without a coding. It is also `nil` if a coding is unknown: the user then gets the content as
    /// received, as in browsers. Throws `cannotDecodeContentData` for more codings than the limits allow, since each
    /// coding multiplies the size to which a byte can expand.
    package static func make(for codings: String, limits: ContentLimits) throws(TransferFailure) -> ContentDecoder? {
        let names = names(in: codings)
        guard !names.isEmpty, names.allSatisfy(isKnown) else { return nil }
        guard names.count <= limits.maximumCodingCount else {
            throw .badCoding(codings, "there are more than \(limits.maximumCodingCount) content codings")
        }
        // The last coding in the list was applied last, so it is decoded first (RFC 9110 §8.4).
        let order = Array(names.reversed())
        let layers = order.compactMap(stream)
        guard layers.count == order.count else { throw .badCoding(codings, "there is no memory") }
        return ContentDecoder(layers, names: order, limits: limits)
    }

    /// Returns the codings in a list, in lower case, without `identity` (RFC 9110 §8.4.1) and without `none`, which
    /// some servers send instead.
    private static func names(in list: String) -> [String] {
        list.unicodeScalars.split(separator: ",").compactMap { part in
            let name = String(part).lowercased().filter { $0 != " " && $0 != "\t" }
            return name.isEmpty || name == "identity" || name == "none" ? nil : name
        }
    }

    private static func isKnown(_ name: String) -> Bool {
        name == "x-gzip" || codings.contains(name)
    }

    /// Makes the decoder of one coding; `nil` if the coding is unknown, or if memory has run out.
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

    /// Decodes from the front of `input` into `output`: at least one step, and more steps while the turn lasts.
    ///
    /// - Throws: `cannotDecodeContentData` if the content does not match its codings; a refusal if the output of a
    ///   layer exceeds the limits on content.
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

    /// Notifies the decoder that the content has ended; throws if a coding is incomplete.
    ///
    /// - Parameters:
    ///   - isEmpty: whether the content has no bytes. Empty content is complete, unless `endedByClose`: many servers
    ///     name a coding although they send nothing.
    ///   - endedByClose: whether the content ended because the connection closed (RFC 9112 §8). Then only the codings
    ///     show whether the content is complete.
    /// - Throws: `networkConnectionLost` with `endedByClose`, even for empty content; otherwise
    ///   `cannotDecodeContentData`.
    package func finish(isEmpty: Bool, endedByClose: Bool) throws(TransferFailure) {
        for (layer, name) in zip(layers, names) where !layer.isWhole || (isEmpty && endedByClose) {
            throw endedByClose
                ? .cutResponse("before the end of the content, which is coded as \(name)")
                : .badCoding(name, "it ends in the middle")
        }
    }
}
