// The encoder of the chunked transfer coding.

/// Writes the chunk lines around a request's content (RFC 9112 §7.1).
package enum ChunkedEncoder {
    /// The CRLF after the content of every chunk.
    package static let chunkEnd: [UInt8] = [0x0D, 0x0A]

    /// Appends a chunk's size line; `byteCount` must be positive, since a chunk of size zero is the last chunk.
    package static func appendSize(_ byteCount: Int, to bytes: inout [UInt8]) {
        precondition(byteCount > 0, "the chunk without content is the last one")
        bytes.append(contentsOf: String(byteCount, radix: 16).utf8)
        bytes.append("\r\n")
    }

    /// Appends the last chunk and the trailer section; trailers are checked like a message's header fields.
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
