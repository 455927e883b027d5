import FixtureServer
import Foundation
import FoundationNetworking
import Glibc
import Testing

@testable import FireweedCLI

@Suite("Terminal output", .timeLimit(.minutes(TestTimeouts.minutes)))
struct TerminalTests {
    private static let evil = "a\u{1B}]0;title\u{7}b\u{9B}2Jc\u{7F}\r"
    private static let clean = "a]0;titleb2Jc"

    @Test("what is interpolated has no control characters, and our own literals have them")
    func interpolation() {
        let evil = Self.evil
        let inner: TerminalText = "\u{1B}[1m\(evil)\u{1B}[0m"
        #expect(("\(inner)\n" as TerminalText).text == "\u{1B}[1m\(Self.clean)\u{1B}[0m\n")
        #expect(TerminalText(foreign: "ä\n\tü€ \u{85}").text == "ä\n\tü€ ")
        let others: TerminalText = "\(Optional(evil) as Any)\(evil.dropFirst())"
        #expect(others.text.unicodeScalars.allSatisfy { $0.value >= 0x20 })
    }

    @Test("content of every kind is shown without control characters, and a pipe gets every byte")
    func content() throws {
        let text = MessageText(appearance: Appearance())
        let json = "{\"a\":\"\(Self.evil)\"}"
        #expect(text.content(Data(json.utf8), type: "application/json").text == "{\n    \"a\": \"\(Self.clean)\"\n}\n")
        #expect(text.content(Data(Self.evil.utf8), type: nil).text == Self.clean + "\n")
        let event = "event: \(Self.evil.dropLast())\ndata: {\"a\":\"\(Self.evil.dropLast())\"}\n\n"
        let shown = text.event(Array(event.utf8)).text
        #expect(shown == "event: \(Self.clean)\ndata: {\n    \"a\": \"\(Self.clean)\"\n}\n\n")
        let url = try #require(URL(string: "http://h/"))
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: nil,
                headerFields: ["X-\u{1B}A": "b\u{1B}c"]))
        #expect(!text.head(of: response).text.contains("\u{1B}"))
        for form in [ContentPrinter.Form.bytes, .events(areRaw: true)] {
            var printer = ContentPrinter(form: form, text: text, type: nil)
            #expect(printer.take(Data(event.utf8)) + printer.finish() == Array(event.utf8))
        }
    }

    @Test("messages and the close reason of a WebSocket are shown without control characters")
    func webSocket() async throws {
        let folder = try TemporaryFolder()
        let url = try WebSocketServer.shared.url("/echo").absoluteString
        let running = try RunningCommand(["ws", url], in: folder.url, onTerminal: true)
        _ = await running.read(until: "> ")
        try running.type("/close 4000 x\u{9B}2Jy\r")
        let (output, code) = await running.rest()
        #expect(output.contains("4000") && code == 0)
        #expect(!output.contains("\u{9B}"))
    }

    // MARK: The password prompt

    private func prompt(
        _ server: FixtureServer, _ folder: TemporaryFolder, then next: String? = nil
    ) async throws -> RunningCommand {
        let url = server.url("/basic-auth/user/secret").absoluteString
        let running = try RunningCommand(
            ["--check-status", "-a", "user", url], in: folder.url, onTerminal: true, then: next)
        let text = await running.read(until: "Password for user: ")
        #expect(text.hasSuffix("Password for user: "))
        return running
    }

    @Test("a typed password is sent and not shown")
    func password() async throws {
        let (server, folder) = (try FixtureServer.start(), try TemporaryFolder())
        let running = try await prompt(server, folder)
        try running.type("secres\u{7F}t\r")
        let result = await running.rest()
        #expect(result.code == 0 && !result.output.contains("secre"), "\(result.output)")
    }

    @Test(
        "Ctrl-C at the password prompt ends the command, Ctrl-D sends nothing",
        arguments: [("\u{3}", 130), ("\u{4}", 64)])
    func noPassword(key: String, code: Int32) async throws {
        let (server, folder) = (try FixtureServer.start(), try TemporaryFolder())
        let running = try await prompt(server, folder)
        try running.type(key)
        let result = await running.rest()
        #expect(result.code == code, "\(result.output)")
        #expect(server.requests.isEmpty)
    }

    @Test("the terminal is asked for a password when standard input is a pipe")
    func passwordBesidePipe() async throws {
        let (server, folder) = (try FixtureServer.start(), try TemporaryFolder())
        let url = server.url("/anything").absoluteString
        let line = "printf data | '\(RunningCommand.program.path)' -a user \(url) | cat"
        let running = try RunningCommand(["--version"], in: folder.url, onTerminal: true, then: line)
        _ = await running.read(until: "Password for user: ")
        try running.type("secret\r")
        _ = await running.rest()
        let request = try #require(server.requests.last)
        #expect(request.body == Data("data".utf8) && request.field("Authorization") == "Basic dXNlcjpzZWNyZXQ=")
    }

    @Test("a signal at a prompt ends the command, and the terminal is as it was", arguments: [SIGTERM, SIGHUP])
    func signalled(number: Int32) async throws {
        let (server, folder) = (try FixtureServer.start(), try TemporaryFolder())
        let running = try await prompt(server, folder, then: "echo \"code $?\"; stty -a")
        kill(try #require(running.commandIdentifier), number)
        let output = await running.rest().output
        #expect(output.contains("code \(128 + number)"), "\(output)")
        #expect(output.contains(" icanon") && output.contains(" echo "), "\(output)")
    }

    @Test("a signal at the prompt of a WebSocket leaves the terminal as it was")
    func signalledSocket() async throws {
        let folder = try TemporaryFolder()
        let url = try WebSocketServer.shared.url("/echo").absoluteString
        let running = try RunningCommand(["ws", url], in: folder.url, onTerminal: true, then: "stty -a")
        _ = await running.read(until: "> ")
        kill(try #require(running.commandIdentifier), SIGTERM)
        let output = await running.rest().output
        #expect(output.contains(" icanon") && output.contains(" echo "), "\(output)")
    }
}
