// Content that is made while it is sent.

/// The pieces of a response's content, each of which is made when it is needed.
package struct ContentSource: Sendable {
    /// The number of bytes of all pieces; `nil` when it is not known, so that HTTP/1.1 sends the content in chunks.
    package let byteCount: Int?
    /// Returns the piece with this number, from 0; `nil` at the end.
    ///
    /// Called once for each number, in order.
    package let piece: @Sendable (_ number: Int) -> MockResponse.Piece?

    package init(byteCount: Int?, piece: @escaping @Sendable (_ number: Int) -> MockResponse.Piece?) {
        self.byteCount = byteCount
        self.piece = piece
    }
}
