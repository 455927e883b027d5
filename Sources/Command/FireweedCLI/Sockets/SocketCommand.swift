// The meaning of a line at the prompt.

import Fireweed
import Foundation

/// A parsed line of the WebSocket prompt; pure.
enum SocketCommand: Equatable {
    case send(String)
    case ping
    case close(code: Int, reason: String)
    case help
    case unknown(String)

    /// Parses a line: `/` begins a command, `//` begins a message that starts with `/`, everything else is a message.
    init(_ line: String) {
        guard line.hasPrefix("/") else {
            self = .send(line)
            return
        }
        if line.hasPrefix("//") {
            self = .send(String(line.dropFirst()))
            return
        }
        let words = line.split(separator: " ", maxSplits: 2).map(String.init)
        switch words[0] {
        case "/ping" where words.count == 1: self = .ping
        case "/help" where words.count == 1: self = .help
        case "/close":
            guard let code = words.count > 1 ? Int(words[1]) : 1000, (1000...4999).contains(code) else {
                self = .unknown("\(words[1]) is no close code: 1000 to 4999")
                return
            }
            self = .close(code: code, reason: words.count > 2 ? words[2] : "")
        default: self = .unknown("there is no command \(line); see /help")
        }
    }

    static let helpText = """
        /ping                  send a ping and show how long its pong takes
        /close [CODE [REASON]] say goodbye
        //text                 send /text
        Ctrl-D                 the same as /close
        """
}
