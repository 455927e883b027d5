// The encoder of the chunked transfer coding.

/// Writes the framing of a request's content that is sent in chunks (RFC 9112 §7.1).
package enum ChunkedEncoder {
    /// The end of the content of every chunk.
    package static let chunkEnd: [UInt8] = [0x0D, 0x0A]

    /// Appends the line before a chunk; `byteCount` is not zero, since an empty chunk would be the last one.
    package static func appendSize(_ byteCount: Int, to bytes: inout [UInt8]) {
        precondition(byteCount > 0, "the chunk without content is the last one")
        bytes.append(contentsOf: String(byteCount, radix: 16).utf8)
        bytes.append("\r\n")
    }

    /// Appends the last chunk and the trailer section; trailers are checked as a message's fields are.
    ///
    /// Throws `badURL` with the name of a trailer that cannot be sent, and appends nothing.
    package static func appendEnd(trailers: FieldBlock? = nil, to bytes: inout [UInt8]) throws(TransferFailure) {
        let lines =
            try trailers.map { (block) throws(TransferFailure) in try CheckedFields(trailers: block).lines } ?? []
        bytes.append("0\r\n")
        bytes += lines
        bytes.append("\r\n")
    }
}
