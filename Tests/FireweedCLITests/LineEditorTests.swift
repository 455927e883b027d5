import CommandLanguage
import Testing

@testable import FireweedCLI

@Suite("Editing a line")
struct LineEditorTests {
    private func typed(_ editor: inout LineEditor, _ text: String) -> [LineEditor.Action] {
        editor.handle(Array(text.utf8))
    }

    @Test(
        "keys do what a shell's do",
        arguments: [
            ("abc", "abc", 3), ("abc\u{7F}", "ab", 2), ("abc\u{8}\u{8}\u{8}\u{8}", "", 0),
            ("abc\u{1B}[D\u{1B}[DX", "aXbc", 2), ("abc\u{1B}OD\u{1B}[CX", "abcX", 4),
            ("abc\u{1}X\u{5}Y", "XabcY", 5), ("abc\u{1B}[HX\u{1B}[FY", "XabcY", 5),
            ("abc\u{1B}[1~X\u{1B}[4~Y", "XabcY", 5),
            ("abc\u{1}\u{4}", "bc", 0), ("abc\u{1}\u{1B}[3~", "bc", 0), ("abc\u{1B}[3~", "abc", 3),
            ("abc\u{2}\u{2}\u{6}\u{B}", "ab", 2), ("one two\u{17}", "one ", 4), ("one two  \u{17}", "one ", 4),
            ("one two\u{15}", "", 0), ("a\u{1B}[Db\u{1B}[15~c", "bca", 2),  // a function key means nothing
            ("κόσμε\u{7F}", "κόσμ", 4), ("e\u{301}x\u{7F}\u{7F}", "", 0),  // a combining mark goes with its letter
            ("👩‍👩‍👧\u{7F}", "", 0), ("a\tb", "ab", 2),
        ])
    func keys(typed text: String, line: String, cursor: Int) {
        var editor = LineEditor()
        #expect(typed(&editor, text).isEmpty)
        #expect(String(editor.line) == line && editor.cursor == cursor)
    }

    @Test("Return gives the line, Ctrl-D ends on an empty one only, Ctrl-C interrupts")
    func actions() {
        var editor = LineEditor()
        #expect(typed(&editor, "one\rtwo\n\r") == [.submit("one"), .submit("two"), .submit("")])
        #expect(typed(&editor, "x\u{4}").isEmpty)
        #expect(typed(&editor, "\u{7F}\u{4}\u{3}") == [.end, .interrupt])
    }

    @Test("Up and Down walk through the history and come back to the draft")
    func history() {
        var editor = LineEditor()
        _ = typed(&editor, "one\rtwo\rtwo\rdraft")
        for (key, line) in [
            ("\u{1B}[A", "two"), ("\u{1B}[A", "one"), ("\u{1B}[A", "one"), ("\u{1B}[B", "two"), ("\u{1B}[B", "draft"),
            ("\u{1B}[B", "draft"), ("\u{10}", "two"), ("\u{E}", "draft"),
        ] {
            _ = typed(&editor, key)
            #expect(String(editor.line) == line)
        }
    }

    @Test("a key may come in pieces, byte by byte")
    func pieces() {
        var editor = LineEditor()
        for byte in Array("ab\u{1B}[Dκ".utf8) { _ = editor.handle([byte]) }
        #expect(String(editor.line) == "aκb" && editor.cursor == 2)
    }

    @Test("the drawing shows what fits around the cursor")
    func drawing() {
        var editor = LineEditor()
        _ = typed(&editor, "abc\u{1B}[D")
        #expect(editor.drawing(prompt: "> ", width: 80).text == "\r\u{1B}[K> abc\u{1B}[1D")
        _ = typed(&editor, "\u{5}" + String(repeating: "x", count: 100))
        #expect(editor.drawing(prompt: "> ", width: 20).text == "\r\u{1B}[K> " + String(repeating: "x", count: 17))
    }

    @Test(
        "lines at the prompt are messages or commands",
        arguments: [
            ("hello", .send("hello")), ("//x", .send("/x")), ("", .send("")), ("/ping", .ping), ("/help", .help),
            ("/close", .close(code: 1000, reason: "")), ("/close 4000 see you", .close(code: 4000, reason: "see you")),
            ("/close x", .unknown("x is no close code: 1000 to 4999")),
            ("/close 99", .unknown("99 is no close code: 1000 to 4999")),
            ("/pong", .unknown("there is no command /pong; see /help")),
        ] as [(String, SocketCommand)])
    func commands(line: String, command: SocketCommand) {
        #expect(SocketCommand(line) == command)
    }

    @Test("bytes are cut into lines wherever they were split")
    func lines() {
        var cutter = LineCutter()
        var lines: [String] = []
        for byte in Array("one\r\n\ntwo\nrest".utf8) {
            lines += cutter.append([byte]).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(lines == ["one", "", "two"])
        #expect(cutter.finish() == Array("rest".utf8) && cutter.finish() == nil)
    }

    @Test("the words of ws and status are understood")
    func words() throws {
        let socket = try ArgumentParser.parse([
            "ws", ":8080/chat", "X-Token:1", "--binary", "--subprotocol=a,b", "--ping", "5", "--compress",
        ])
        #expect(socket.task == .webSocket && socket.url == "ws://localhost:8080/chat" && socket.items.count == 1)
        #expect(socket.sendsBinary && socket.subprotocol == "a,b" && socket.pingInterval == 5 && socket.compresses)
        #expect(try ArgumentParser.parse(["ws", "example.com"]).url == "wss://example.com")
        #expect(try ArgumentParser.parse(["status"]).task == .status(target: nil))
        let watched = try ArgumentParser.parse(["status", "--watch", "example.com"])
        #expect(watched.task == .status(target: "example.com") && watched.watches)
        for wrong in [["ws"], ["ws", "example.com", "a=b"], ["status", "a", "b"], ["ws", "x", "--ping", "0"]] {
            #expect(throws: UsageError.self) { try ArgumentParser.parse(wrong) }
        }
    }
}
