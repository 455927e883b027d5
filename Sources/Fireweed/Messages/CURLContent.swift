// The content of a request as a shell can make it.

import Foundation

/// What a `curl` command sends as content.
enum CURLContent: Sendable {
    /// A run of content.
    enum Piece: Sendable {
        case bytes(Data)
        case file(URL)
        /// Bytes of a stream, which cannot be shown; the command takes them from its standard input.
        case stream
    }

    case none
    case pieces([Piece])

    static func data(_ data: Data) -> CURLContent { .pieces([.bytes(data)]) }

    /// More bytes than curl sends without asking first (`Expect: 100-continue`), which we never do.
    var isLarge: Bool {
        guard case .pieces(let pieces) = self else { return false }
        if pieces.count == 1, case .bytes(let data) = pieces[0] { return data.count > 1_000_000 }
        return true
    }
}
