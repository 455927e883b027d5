import CommandLanguage
import FixtureServer
import Foundation
import Testing

@testable import FireweedCLI

@Suite("Streaming output", .timeLimit(.minutes(TestTimeouts.minutes)))
struct StreamingTests {
    private static let events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

    private func run(_ arguments: String...) throws -> RunningCommand { try run(arguments) }

    private func run(_ arguments: [String]) throws -> RunningCommand { try RunningCommand(arguments, hasInput: false) }

    @Test("bytes are printed as they arrive", arguments: [["--stream"], ["-S"], []])
    func bytes(options: [String]) async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 200 OK\r\n\r\nfirst"), .wait(for: "go"), .send(" second"), .close])
        let running = try run(["GET", server.url().absoluteString] + options)
        #expect(await running.read(5) == "first")
        server.signal("go")
        let rest = await running.rest()
        #expect(rest.output == " second" && rest.code == 0)
    }

    @Test(
        "events are printed one at a time, without being asked, and byte for byte in a pipe",
        arguments: [[], ["--stream"]])
    func events(options: [String]) async throws {
        let server = try ScriptedServer.start(
            [
                .receiveHead, .send(Self.events + "data: one\n\ndata: t"), .wait(for: "go"), .send("wo\r\n\r\n: rest"),
                .close,
            ])
        let running = try run(["GET", server.url().absoluteString] + options)
        #expect(await running.read(11) == "data: one\n\n")
        server.signal("go")
        let rest = await running.rest()
        #expect(rest.output == "data: two\r\n\r\n: rest" && rest.code == 0)
    }

    @Test("the head comes before the first byte of content")
    func head() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send(Self.events), .wait(for: "go"), .send("data: 1\n\n"), .close])
        let running = try run("--print=hb", server.url().absoluteString)
        let head = "HTTP/1.1 200 OK\nContent-Type: text/event-stream\n\n"
        #expect(await running.read(head.utf8.count).lowercased() == head.lowercased())
        server.signal("go")
        #expect(await running.rest().output == "data: 1\n\n")
    }

    @Test("Ctrl-C ends a stream between two events, with the code for that")
    func interrupted() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Self.events + "data: one\n\ndata: t"), .hold])
        let running = try run(server.url().absoluteString)
        #expect(await running.read(11) == "data: one\n\n")
        running.process.interrupt()
        let rest = await running.rest()
        #expect(rest.output.isEmpty && rest.code == ExitCode.interrupted.rawValue)
        // A shell ends its loop for that alone.
        #expect(running.process.terminationReason == .uncaughtSignal)
        try await server.events.next(.closedByPeer(0))
    }

    @Test("content is sent with a stream's request too")
    func upload() async throws {
        let server = try FixtureServer.start()
        let running = try run("--stream", server.url("/anything").absoluteString, "name=Ada")
        let object = try JSONSerialization.jsonObject(with: Data(await running.rest().output.utf8)) as? [String: Any]
        #expect(object?["method"] as? String == "POST")
        #expect(object?["data"] as? String == #"{"name": "Ada"}"#)
        let withGet = try run("GET", server.url("/anything").absoluteString, "--raw", "x")
        #expect(await withGet.rest().code == 0)
    }

    @Test("lines and drops of the fixture server come whole", arguments: ["/stream/20", "/drip?bytes=20&duration=0.2"])
    func fixtures(path: String) async throws {
        let server = try FixtureServer.start()
        let expected = try String(contentsOf: server.url(path), encoding: .utf8)
        #expect(try await run("--stream", server.url(path).absoluteString).rest().output == expected)
    }

    @Test("--stream does not go with options that save")
    func usage() {
        let error = #expect(throws: UsageError.self) {
            try ArgumentParser.parse(["--stream", "--download", "h.example"])
        }
        #expect(error?.message.contains("--stream") == true)
    }
}

@Suite("Printing content")
struct ContentPrinterTests {
    private let text = MessageText(appearance: Appearance())

    private func print(_ pieces: [String], _ form: ContentPrinter.Form) -> [String] {
        var printer = ContentPrinter(form: form, text: text, type: nil)
        let outputs = pieces.map { printer.take(Data($0.utf8)) } + [printer.finish()]
        return outputs.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(
        "blocks end with their empty line, however they came",
        arguments: [
            "data: a\n\ndata: b\n\n", "data: a\r\rdata: b\r\r", "data: a\r\n\r\ndata: b\r\n\r\n", "\n\n: x\r\n\r\ny",
            "data: a\n\r\ndata: b\r\n\n", "",
        ])
    func splitting(stream: String) {
        let bytes = Array(stream.utf8)
        for cut in 0...bytes.count {
            var splitter = EventSplitter()
            let blocks = splitter.take(Data(bytes[..<cut])) + splitter.take(Data(bytes[cut...]))
            #expect(blocks.flatMap { $0 } + splitter.rest == bytes)
            let texts = blocks.map { String(decoding: $0, as: UTF8.self) }
            for (letter, index) in [("a", 0), ("b", 1)] where stream.contains("data: \(letter)") {
                let holding = texts.indices.filter { texts[$0].contains("data: \(letter)") }
                #expect(holding.count == 1 && texts.filter { $0.contains("data") }[index].contains(letter))
            }
        }
    }

    @Test("a terminal gets an event with its JSON indented, and without what would steer it")
    func event() {
        let shown = print(
            ["event: add\ndata: {\"a\":1}", "\n\n: ping\r\n\r\ndata: \u{1B}[2Jx\n\n"], .events(areRaw: false))
        #expect(shown[0].isEmpty)
        #expect(shown[1] == "event: add\ndata: {\n    \"a\": 1\n}\n\n: ping\n\ndata: [2Jx\n\n")
    }

    @Test("a terminal gets text at once, with whole characters, and a note instead of bytes that are not text")
    func terminalText() {
        var printer = ContentPrinter(form: .text, text: text, type: nil)
        let euro = Array("€".utf8)
        #expect(printer.take(Data(Array("a".utf8) + euro[..<1])) == Array("a".utf8))
        #expect(printer.take(Data(euro[1...])) == euro)
        #expect(String(decoding: printer.take(Data([0x62, 0])), as: UTF8.self).contains("not text"))
        #expect(printer.take(Data("more".utf8)).isEmpty)
    }

    @Test("what begins with many bytes that cannot be seen is decided about, and JSON behind some is still JSON")
    func invisible() {
        var printer = ContentPrinter(form: .formatted, text: text, type: nil)
        let pieces = (0..<4).map { _ in printer.take(Data(count: 32 * 1024)) }
        let shown = String(decoding: pieces.joined(), as: UTF8.self)
        #expect(shown == "(bytes that are not text; use -o FILE, --download or a pipe)\n")
        #expect(printer.take(Data("more".utf8)).isEmpty && printer.finish().isEmpty)
        let spaces = String(repeating: " ", count: 60 * 1024)
        let json = print([spaces, "{\"a\":", "1}"], .formatted)
        #expect(json.dropLast().allSatisfy(\.isEmpty) && json.last?.hasSuffix("{\"a\":1}\n") == true)
        #expect(print([spaces, spaces, "a"], .formatted)[1] == spaces + spaces)
    }

    @Test("text that is not JSON is shown as it comes, and ends with its line")
    func plainText() {
        #expect(print([" \n", "one ", "two"], .formatted) == ["", " \none ", "two", "\n"])
        #expect(
            print(["{\"a\":1}\n{\"b\"", ":2}\n"], .lines)
                == ["{\n    \"a\": 1\n}\n", "{\n    \"b\": 2\n}\n", ""])
    }

    @Test("what is to be formatted waits for its end")
    func whole() {
        #expect(print(["{\"a\"", ":1}"], .formatted) == ["", "", "{\n    \"a\": 1\n}\n"])
    }
}
