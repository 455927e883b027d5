// The screen of a WebSocket's terminal.

import Fireweed
import Foundation
import FoundationNetworking

/// Keeps the line that is being edited below incoming messages.
actor SocketConsole {
    private var editor = LineEditor()
    private let terminal: RawTerminal?
    private var isPromptShown = false
    private var lastMessage: ContinuousClock.Instant?
    /// True after Ctrl-C.
    private(set) var wasInterrupted = false
    /// True after input that cannot be sent.
    private(set) var hasFailed = false
    /// The close code that the user gave; `nil` before that.
    private(set) var closingCode: Int?

    /// Makes a console; without a terminal, messages go to standard output and notes to standard error.
    init(terminal: RawTerminal?) {
        self.terminal = terminal
    }

    func noteInterruption() { wasInterrupted = true }

    func noteClosing(_ code: Int) { closingCode = code }

    var isInteractive: Bool { terminal != nil }

    /// Handles keys, draws the line, and returns the requested actions.
    func keys(_ bytes: [UInt8]) -> [LineEditor.Action] {
        let actions = editor.handle(bytes)
        for case .submit(let text) in actions { Terminal.write("\r\u{1B}[K> \(text)\n") }
        draw()
        return actions
    }

    /// Waits until no message has arrived for `time`; sleeps, since the user sets this time with `--wait`.
    func waitForQuiet(_ time: Duration) async {
        let start = ContinuousClock.now
        while true {
            let end = max(start, lastMessage ?? start) + time
            guard end > .now, (try? await Task.sleep(until: end, clock: .continuous)) != nil else { return }
        }
    }

    /// Shows a message from the server.
    func show(_ message: URLSessionWebSocketTask.Message) {
        lastMessage = .now
        switch (message, terminal) {
        case (.string(let text), nil): Terminal.writeContent(text + "\n")
        case (.data(let data), nil): Terminal.write(Array(data))
        case (.string(let text), _): above("< \(text)")
        case (.data(let data), _): above("< \(Self.hex(data))")
        }
    }

    /// Shows a text that is not a message: above the prompt, or on standard error.
    func note(_ text: String) {
        if terminal != nil { above("* \(text)") } else { Terminal.tell("fireweed: \(text)\n") }
    }

    /// Reports why the input cannot be sent.
    func fail(_ text: String) {
        hasFailed = true
        note(text)
    }

    /// Shows a head: above the prompt, or on standard error.
    func showHead(_ head: TerminalText) {
        if terminal != nil { above(head) } else { Terminal.tell(head) }
    }

    /// Removes the prompt, and restores the terminal.
    func end() {
        if isPromptShown { Terminal.write("\r\u{1B}[K") }
        terminal?.restore()
    }

    func draw() {
        guard terminal != nil else { return }
        isPromptShown = true
        Terminal.write(editor.drawing(prompt: "> ", width: Terminal.width))
    }

    private func above(_ text: TerminalText) {
        Terminal.write("\r\u{1B}[K\(text)\n")
        if isPromptShown { draw() }
    }

    private static func hex(_ data: Data) -> String {
        let shown = data.prefix(32).map { String(format: "%02x", $0) }.joined(separator: " ")
        return "\(data.count) bytes: \(shown)\(data.count > 32 ? " …" : "")"
    }
}
