// A line that is edited key by key; pure.

/// Edits a line by the bytes of a terminal's keys.
///
/// Handles arrows, Home, End, Backspace, Delete and a shell's usual control keys; Up and Down recall earlier lines.
struct LineEditor {
    /// An action that a key requests outside of the line.
    enum Action: Equatable {
        /// The line was entered.
        case submit(String)
        /// Ctrl-D on an empty line.
        case end
        /// Ctrl-C.
        case interrupt
    }

    private(set) var line: [Character] = []
    private(set) var cursor = 0
    private var history: [String] = []
    /// The position of Up and Down in `history`; its end index stands for the line that is being written.
    private var place = 0
    private var draft: [Character] = []
    private var escape: [UInt8] = []
    private var character: [UInt8] = []

    /// Handles the bytes of keys.
    mutating func handle(_ bytes: [UInt8]) -> [Action] {
        bytes.compactMap { handle($0) }
    }

    private mutating func handle(_ byte: UInt8) -> Action? {
        if !escape.isEmpty {
            escaped(byte)
            return nil
        }
        switch byte {
        case 0x1B: escape = [byte]
        case 0x03: return .interrupt
        case 0x04: return deleteOrEnd()
        case 0x0A, 0x0D: return submit()
        case 0x01: cursor = 0
        case 0x05: cursor = line.count
        case 0x02: move(-1)
        case 0x06: move(1)
        case 0x08, 0x7F: deleteBackward()
        case 0x0B: line.removeLast(line.count - cursor)
        case 0x0E: recall(1)
        case 0x10: recall(-1)
        case 0x15: removeBackward(to: 0)
        case 0x17: removeBackward(to: startOfWord)
        case 0x20...: insert(byte)
        default: break  // other control keys are ignored
        }
        return nil
    }

    /// Handles a byte of a special key's sequence (ECMA-48 §5.4): ESC [ or ESC O, digits, and a last byte.
    private mutating func escaped(_ byte: UInt8) {
        escape.append(byte)
        if escape.count == 2, byte == 0x5B || byte == 0x4F { return }
        if escape.count > 2, byte < 0x40, escape.count < 8 { return }
        let sequence = String(decoding: escape.dropFirst(2), as: UTF8.self)
        escape = []
        switch sequence {
        case "A": recall(-1)
        case "B": recall(1)
        case "C": move(1)
        case "D": move(-1)
        case "H", "1~", "7~": cursor = 0
        case "F", "4~", "8~": cursor = line.count
        case "3~": deleteForward()
        default: break
        }
    }

    /// Adds a byte of UTF-8; the character is inserted when it is whole.
    private mutating func insert(_ byte: UInt8) {
        character.append(byte)
        guard let text = String(validating: character, as: UTF8.self) else {
            if character.count >= 4 { character = [] }
            return
        }
        character = []
        // A combining mark joins the character before it.
        let before = cursor > 0 ? String(line[cursor - 1]) : ""
        let joined = Array(before + text)
        line.replaceSubrange((before.isEmpty ? cursor : cursor - 1)..<cursor, with: joined)
        cursor += joined.count - (before.isEmpty ? 0 : 1)
    }

    private mutating func submit() -> Action {
        let text = String(line)
        if !text.isEmpty, history.last != text { history.append(text) }
        place = history.count
        line = []
        cursor = 0
        return .submit(text)
    }

    private mutating func deleteOrEnd() -> Action? {
        if line.isEmpty { return .end }
        deleteForward()
        return nil
    }

    private mutating func move(_ step: Int) {
        cursor = min(max(cursor + step, 0), line.count)
    }

    private mutating func deleteBackward() {
        if cursor > 0 { removeBackward(to: cursor - 1) }
    }

    private mutating func deleteForward() {
        if cursor < line.count { line.remove(at: cursor) }
    }

    private mutating func removeBackward(to start: Int) {
        line.removeSubrange(start..<cursor)
        cursor = start
    }

    private var startOfWord: Int {
        var start = cursor
        while start > 0, line[start - 1] == " " { start -= 1 }
        while start > 0, line[start - 1] != " " { start -= 1 }
        return start
    }

    private mutating func recall(_ step: Int) {
        let next = place + step
        guard (0...history.count).contains(next) else { return }
        if place == history.count { draft = line }
        place = next
        line = place == history.count ? draft : Array(history[place])
        cursor = line.count
    }

    /// Returns the output that redraws the line: the prompt, the part of the line that fits, and the cursor movement.
    func drawing(prompt: String, width: Int) -> TerminalText {
        let room = max(width - prompt.count - 1, 8)
        let start = max(0, cursor - room)
        let shown = line[start...].prefix(room)
        let behind = start + shown.count - cursor
        let back: TerminalText = behind > 0 ? "\u{1B}[\(behind)D" : ""
        return "\r\u{1B}[K\(prompt)\(String(shown))\(back)"
    }
}
