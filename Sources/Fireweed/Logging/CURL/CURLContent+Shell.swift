// Request content in a shell command.

import Foundation

extension CURLContent {
    /// Content of this length in bytes, or longer, is piped, since an argument on Linux has at most 128 KiB
    /// (`MAX_ARG_STRLEN`).
    private static let argumentLimit = 100_000

    /// The commands before `curl`, and the options of `curl`, that send the content.
    var shellText: (pipe: String, options: [String]) {
        switch self {
        case .none: return ("", [])
        case .pieces(let pieces) where pieces.count == 1: return Self.shellText(pieces[0])
        case .pieces(let pieces):
            let commands = pieces.map { piece in
                switch piece {
                case .bytes(let data): "printf \(ShellText.format(data))"
                case .file(let url): "cat \(ShellText.word(url.path))"
                case .stream: "cat"
                }
            }
            return ("{ \(commands.joined(separator: "; ")); } | ", ["--data-binary @-"])
        }
    }

    private static func shellText(_ piece: Piece) -> (pipe: String, options: [String]) {
        switch piece {
        case .file(let url): return ("", ["--data-binary \(ShellText.quoted("@\(url.path)"))"])
        case .stream: return ("", ["--data-binary @-"])
        case .bytes(let data):
            guard data.count < argumentLimit,  // `String(data:encoding:)` drops a byte order mark
                let text = String(validating: data, as: UTF8.self),
                !text.unicodeScalars.contains(where: ShellText.isControl)
            else { return ("printf \(ShellText.format(data)) | ", ["--data-binary @-"]) }
            // For text with a leading `@`, `-d` would read a file.
            return ("", ["\(text.utf8.first == UInt8(ascii: "@") ? "--data-raw" : "-d") \(ShellText.quoted(text))"])
        }
    }
}
