// Request content in a form that a shell command can send.

import Foundation

/// The content in a `curl` command.
enum CURLContent: Sendable {
    /// A piece of the content.
    enum Piece: Sendable {
        case bytes(Data)
        case file(URL)
        /// Bytes of a stream, which cannot be shown; the command reads them from its standard input.
        case stream
    }

    case none
    case pieces([Piece])

    static func data(_ data: Data) -> CURLContent { .pieces([.bytes(data)]) }

    /// Whether curl would send `Expect: 100-continue` for this content; we send it only if the request has the field.
    var isLarge: Bool {
        guard case .pieces(let pieces) = self else { return false }
        if pieces.count == 1, case .bytes(let data) = pieces[0] { return data.count > 1_000_000 }
        return true
    }
}
