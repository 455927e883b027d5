// What is printed before a response's content.

import Fireweed
import Foundation

/// Prints the request and the head of its response, as far as they are wanted.
struct HeadPrinter: Sendable {
    private let parts: String
    private let text: MessageText
    private let contentText: TerminalText

    init(parts: String, text: MessageText, content: RequestPlan.Content) {
        self.parts = parts
        self.text = text
        contentText =
            switch content {
            case .data(let data, let type) where parts.contains("B"): text.content(data, type: type) + "\n"
            case .file(let file, _) where parts.contains("B"): "(the content of \(file.path))\n\n"
            case .input where parts.contains("B"): "(the content of standard input)\n\n"
            case .multipart where parts.contains("B"): "(multipart content)\n\n"
            case .none, .data, .file, .input, .multipart: ""
            }
    }

    /// Called before any content.
    func print(_ response: HTTPURLResponse, of request: Request) {
        printRequest(request)
        guard parts.contains("h") else { return }
        Terminal.write(text.head(of: response, protocolName: request.task?.responseProtocolName))
    }

    func printRequest(_ request: Request) {
        guard let sent = request.performedRequests.first else { return }
        if parts.contains("H") { Terminal.write(text.head(of: sent)) }
        Terminal.write(contentText)
    }
}
