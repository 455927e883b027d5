import CommandLanguage
import Fireweed
import FixtureServer
import Foundation
import Glibc
import Testing

@testable import FireweedCLI

@Suite("fireweed fetch", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FetchTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: String..., input: String? = nil) throws -> CommandResult {
        try Command.run(["fetch"] + arguments, in: folder.url, input: input)
    }

    private func url(_ path: String) -> String { "\(server.url.absoluteString)/\(path)" }

    /// Never answers a request of a path, and tells of it.
    private func hold(_ path: String) -> EventLog<String> {
        let arrivals = EventLog<String>()
        server.route(path) { _ in
            arrivals.note(path)
            return FixtureResponse(body: .pieces(byteCount: nil) { _ in .wait(0.05) })
        }
        return arrivals
    }

    /// The records, by the numbers of their items.
    private func records(_ data: Data) throws -> [Int: [String: Any]] {
        let records = try String(decoding: data, as: UTF8.self).split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
        }
        return Dictionary(records.map { ($0["index"] as? Int ?? 0, $0) }) { first, _ in
            Issue.record("two records of an item: \(first)")
            return first
        }
    }

    private func file(_ name: String) throws -> Data { try Data(contentsOf: folder.file(name)) }

    private func write(_ text: String, to name: String) throws {
        try text.write(to: folder.file(name), atomically: true, encoding: .utf8)
    }

    @Test("URLs of the command line, with ranges, get a record each, and every request the fields of the command line")
    func commandLine() throws {
        server.route("/n") { .text("\($0.query.first?.name ?? "") \($0.field("X-A") ?? "")") }
        let result = try run(url("n?{1..3}"), url("status/404"), "X-A:b")
        #expect(result.code == 0 && result.errors.isEmpty)
        let records = try records(result.output)
        #expect(Set(records.keys) == [1, 2, 3, 4])
        #expect((1...3).map { records[$0]?["body"] as? String } == ["1 b", "2 b", "3 b"])
        #expect(records[4]?["status"] as? Int == 404 && records[4]?["error"] == nil)
        let seconds = records[1]?["seconds"] as? [String: Double]
        #expect(try #require(seconds?["total"]) >= 0 && records[1]?["attempts"] as? Int == 1)
    }

    @Test("a list has URLs and JSON requests, and a wrong line gets a record that says why")
    func list() throws {
        let list = """
            \u{FEFF}# a comment

            \(url("get?a=1"))\r
            {"url": "\(url("anything"))", "method": "PUT", "headers": {"X-B": ["1", "2"]}, "body": {"n": 1.50}, "id": 7}
            {"url": "\(url("anything"))", "body": "text"}
            {"url": "\(url("get"))", "methd": "PUT"}
            {"url": 7}
            {"url": "\(url("get"))", "headers": {"a b": "c"}}
            {"method": "GET"
            ftp://example.org/
            http://127.0.0.1:1/
            """
        let result = try run(input: list)
        #expect(result.code == 1 && result.errors == "fireweed: 6 of 9 failed; their records have the error\n")
        let records = try records(result.output)
        #expect(records[1]?["status"] as? Int == 200 && records[1]?["url"] as? String == url("get?a=1"))
        let put = try #require(records[2]?["body"] as? String)
        let sent = try #require(JSONSerialization.jsonObject(with: Data(put.utf8)) as? [String: Any])
        #expect(sent["method"] as? String == "PUT" && sent["data"] as? String == #"{"n": 1.50}"#)
        #expect(records[2]?["id"] as? Int == 7 && records[2]?["method"] as? String == "PUT")
        #expect((records[3]?["body"] as? String)?.contains("text/plain") == true)
        let errors = (4...9).map { records[$0]?["error"] as? String ?? "" }
        let words = ["methd", "url is a number", "\"a b\"", "not JSON", "ftp", "connect"]
        for (error, word) in zip(errors, words) { #expect(error.contains(word), "\(error)") }
    }

    @Test("a GET may have content", arguments: [[], ["--save", "saved"]] as [[String]])
    func contentOfGET(options: [String]) throws {
        let line = #"{"url": "\#(url("anything"))", "method": "GET", "body": {"a": 1}}"#
        let result = try Command.run(["fetch"] + options, in: folder.url, input: line)
        #expect(result.code == 0, "\(result.output)")
        let last = try #require(server.requests.last)
        #expect(last.method == "GET" && last.body == Data(#"{"a": 1}"#.utf8))
    }

    @Test("lines are told apart however they come, and one that is too long does not fill the memory")
    func lines() {
        var splitter = FetchLineSplitter()
        var lines: [FetchLine] = []
        for byte in Array("a\n\n #x\n# y\r\nb c \r\n".utf8) { lines += splitter.append([byte]) }
        #expect(lines == [.text(Array("a".utf8)), .text(Array("b c".utf8))])
        let piece = [UInt8](repeating: 0x61, count: FetchLine.maximumByteCount)
        #expect(splitter.append(piece[...]).isEmpty && splitter.append(piece[...]).isEmpty)
        #expect(splitter.append([0x0A, 0x62]) == [.tooLong(Array(piece.prefix(1024)))])
        #expect(splitter.finish() == [.text([0x62])] && splitter.finish().isEmpty)
    }

    @Test("contents that are not text are in Base64, and too long ones are failures")
    func contents() throws {
        server.route("/binary") { _ in FixtureResponse(body: .data(Data([0xFF, 0, 0xFE]))) }
        let records = try records(run("--max-body", "100", url("binary"), url("bytes/101"), url("bytes/100")).output)
        #expect(records[1]?["body_base64"] as? String == "/wD+" && records[1]?["bytes"] as? Int == 3)
        #expect(records[2]?["error"] != nil && records[3]?["bytes"] as? Int == 100)
        let omitted = try self.records(run("--omit-body", url("bytes/10")).output)
        #expect(omitted[1]?["bytes"] as? Int == 10 && omitted[1]?["body_base64"] == nil && omitted[1]?["body"] == nil)
    }

    @Test("--save puts contents into files that the records name")
    func save() throws {
        let result = try run("--save", "pages", url("bytes/5000"), url("redirect/1"))
        let records = try records(result.output)
        #expect(result.code == 0 && records[1]?["file"] as? String == "pages/0000001-5000")
        #expect(try file("pages/0000001-5000").count == 5000)
        #expect(records[2]?["final_url"] as? String == url("get"))
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.file("pages").path)
        #expect(files.sorted() == ["0000001-5000", "0000002-1"])
    }

    @Test("after a kill --continue makes exactly the rest: no item is lost, none has two records")
    func resuming() async throws {
        let arrivals = hold("/stuck")
        server.route("/item") { .text($0.query.first?.name ?? "") }
        try write((1...40).map { url($0 == 21 ? "stuck" : "item?\($0)") }.joined(separator: "\n"), to: "list")
        let arguments = ["fetch", "--from", "list", "-o", "records", "--jobs", "1"]
        let running = try RunningCommand(arguments, in: folder.url, hasInput: false)
        try await arrivals.first { $0 == "/stuck" }
        kill(running.process.processIdentifier, SIGKILL)
        _ = await running.rest()
        let before = try records(file("records"))
        #expect(Set(before.keys) == Set(1...20))
        // A torn record, as the loss of power leaves it.
        let handle = try FileHandle(forWritingTo: folder.file("records"))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("{\"index\": 21, \"key\": \"0123".utf8))
        try handle.close()
        #expect(try run("--from", "list", "-o", "records").errors.contains("--continue"))
        server.route("/stuck") { _ in .text("free") }
        let requestCount = server.requests.count
        let rest = try run("--from", "list", "-o", "records", "--continue")
        #expect(rest.code == 0 && server.requests.count == requestCount + 20)
        let after = try records(file("records"))
        #expect(Set(after.keys) == Set(1...40) && after[21]?["body"] as? String == "free")
        let again = try run("--from", "list", "-o", "records", "-c")
        #expect(again.errors == "fireweed: all 40 were finished before\n" && again.code == 0)
    }

    @Test("Ctrl-C and SIGTERM end a run that can be continued", arguments: [SIGINT, SIGTERM])
    func signals(signal: Int32) async throws {
        let arrivals = hold("/stuck")
        try write([url("get"), url("stuck"), url("stuck")].joined(separator: "\n"), to: "list")
        let arguments = ["fetch", "--from", "list", "--journal", "journal", "--jobs", "1"]
        let running = try RunningCommand(arguments, in: folder.url, hasInput: false)
        try await arrivals.first { $0 == "/stuck" }
        kill(running.process.processIdentifier, signal)
        let (output, code) = await running.rest()
        #expect(code == 128 + signal && output.contains("interrupted with 1 finished; the same command"))
        #expect(output.contains("\"index\": 1,") && !output.contains("\"index\": 2,"))
        server.route("/stuck") { _ in FixtureResponse() }
        let rest = try run("--from", "list", "--journal", "journal", "--continue")
        #expect(try Set(records(rest.output).keys) == [2, 3] && rest.code == 0)
    }

    @Test("a signal ends a run of which only the last request is left with its code, each time", arguments: [1, 2])
    func lastRequest(count: Int) async throws {
        let arrivals = hold("/stuck")
        for number in 1...10 {
            let arguments = ["fetch"] + Array(repeating: url("stuck"), count: count)
            let running = try RunningCommand(arguments, in: folder.url, hasInput: false)
            while arrivals.events.count < number * count { await Task.yield() }
            kill(running.process.processIdentifier, SIGINT)
            let (output, code) = await running.rest()
            #expect(code == 130 && output.contains("interrupted with 0 finished"), "\(output)")
        }
    }

    @Test("a list that does not end is read as far as it is needed, and a signal ends the wait for more of it")
    func openPipe() async throws {
        let running = try RunningCommand(["fetch", "--omit-body"], in: folder.url)
        try running.type("\(url("get"))\n")
        _ = await running.read(until: "\"index\": 1,")
        kill(running.process.processIdentifier, SIGTERM)
        #expect(await running.rest().code == 143)
    }

    @Test("--continue makes failed requests again, and ends with 1 while one fails", arguments: [true, false])
    func failedAgain(hasJournal: Bool) throws {
        let isUp = EventLog<Int>()
        server.route("/flaky") { _ in .text("0123456789", status: isUp.events.isEmpty ? 200 : 201) }
        try write("\(url("get"))\n\(url("flaky"))\n", to: "list")
        let options = hasJournal ? ["--journal", "journal"] : ["-o", "records"]
        func run(_ limit: String, _ others: [String]) throws -> CommandResult {
            try Command.run(
                ["fetch", "--from", "list", "--omit-body", "--max-body", limit] + options + others, in: folder.url,
                input: "")
        }
        #expect(try run("5", []).code == 1)
        #expect(try run("5", ["--continue"]).code == 1)
        let count = server.requests.count
        let rest = try run("1M", ["--continue"])
        #expect(rest.code == 0, "\(rest.errors)")
        #expect(server.requests.count > count)
        let again = try run("1M", ["--continue"])
        #expect(again.code == 0 && again.errors == "fireweed: all 2 were finished before\n", "\(again.errors)")
    }

    @Test("a full disk, a closed pipe, folders and foreign files are told in words")
    func careless() throws {
        let full = try run(url("get"), "-o", "/dev/full")
        #expect(full.code == 1 && full.errors == "fireweed: /dev/full cannot be written: No space left on device\n")
        try FileManager.default.createDirectory(at: folder.file("d"), withIntermediateDirectories: false)
        #expect(try run("--from", "d").errors == "fireweed: d cannot be read: it is a folder\n")
        #expect(try run(url("get"), "-o", "d").errors == "fireweed: d cannot be written: Is a directory\n")
        #expect(try run("--from", "none").errors == "fireweed: none cannot be read: No such file or directory\n")
        try write("my notes\n", to: "notes")
        let foreign = try run(url("get"), "-o", "notes", "--continue")
        #expect(foreign.code == 1 && foreign.errors.contains("no records of fireweed fetch"))
        #expect(try file("notes") == Data("my notes\n".utf8))
        let empty = try run(input: "")
        #expect(empty.code == 0 && empty.errors == "fireweed: the list is empty\n" && empty.output.isEmpty)
        for wrong in [["--continue"], ["a=b"], ["--rate", "0"], ["--rate", "5/d"], ["--all", "h.example"]] {
            #expect(try Command.run(["fetch"] + wrong, in: folder.url, input: "").code == 64, "\(wrong)")
        }
        let piped = try Command.run(
            ["fetch", url("get"), "--print", "h"], in: folder.url)
        #expect(piped.code == 64 && piped.errors.contains("fireweed fetch"))
    }

    @Test("--retry tries again, and the record has the last answer", arguments: [[], ["--save", "saved"]])
    func retries(options: [String]) throws {
        let counter = EventLog<Int>()
        server.route("/busy") { _ in
            counter.note(1)
            return counter.events.count < 3 ? .text("no", status: 503) : .text("yes")
        }
        let arguments = ["fetch", "--retry", "5", "--retry-delay", "0.01", url("busy")] + options
        let record = try #require(try records(Command.run(arguments, in: folder.url).output)[1])
        #expect(record["status"] as? Int == 200 && record["attempts"] as? Int == 3)
        let content = try (record["file"] as? String).map { String(decoding: try file($0), as: UTF8.self) }
        #expect(content ?? record["body"] as? String == "yes")
    }

    @Test(
        "a status that --retry leaves is a result: its content is kept and expectations apply",
        arguments: ["GET", "POST"], [[], ["--save", "saved"]])
    func statusThatStays(method: String, options: [String]) throws {
        server.route("/busy") { _ in .text("no", status: 503) }
        let arguments = ["--retry", "2", "--retry-delay", "0.01", "--expect", "status==200"] + options
        let line = "{\"url\": \"\(url("busy"))\", \"method\": \"\(method)\"}\n"
        let result = try Command.run(["fetch"] + arguments, in: folder.url, input: line)
        let record = try #require(try records(result.output)[1])
        #expect(result.code == 1 && record["status"] as? Int == 503)
        #expect(record["attempts"] as? Int == (method == "GET" ? 3 : 1))
        #expect(record["error"] as? String == "expected status==200, but the status is 503")
        let file = record["file"] as? String
        #expect((file == nil) == options.isEmpty)
        let content = try file.map { String(decoding: try self.file($0), as: UTF8.self) }
        #expect(content ?? record["body"] as? String == "no")
    }

    @Test("no more requests run at an origin than --per-host says, and other origins are not held back")
    func perHost() throws {
        func item(_ index: Int, _ host: String) -> FetchItem {
            let defaults = FetchDefaults(Invocation(), headers: HTTPHeaders())
            return FetchItem(index: index, line: .text(Array("http://\(host)/".utf8)), defaults: defaults)
        }
        var queue = FetchQueue(limit: 3, originLimit: 2)
        for (index, host) in ["a", "a", "a", "b", "c"].enumerated() { queue.append(item(index, host)) }
        let first = (0..<4).map { _ in queue.next() }
        #expect(first.map { $0?.index } == [0, 1, 3, nil])
        queue.finish(try #require(first[2]))
        #expect(queue.next()?.index == 4 && queue.next() == nil)
        queue.finish(try #require(first[0]))
        #expect(queue.next()?.index == 2 && !queue.isEmpty)
    }

    @Test("rates are read, and other texts are refused")
    func rates() {
        #expect(Option.interval("100/m") == .milliseconds(600) && Option.interval("0.5") == .seconds(2))
        for text in ["", "/s", "0", "-1", "1e3", "5/d", "5/", "inf"] {
            #expect(Option.interval(text) == nil, "\(text)")
        }
    }

    @Test("--rate spaces the requests to each origin, and waits as long as a server asks for")
    func pacing() throws {
        let counter = EventLog<Int>()
        server.route("/busy") { _ in
            counter.note(1)
            return counter.events.count > 1 ? .text("yes") : .text("no", status: 429, fields: [("Retry-After", "1")])
        }
        let clock = ContinuousClock()
        var result: CommandResult?
        // Lower bounds alone: they hold on any machine.
        let spaced = try clock.measure { result = try run("--rate", "10/s", url("get?{1..5}")) }
        #expect(result?.code == 0 && server.requests.count == 5 && spaced >= .milliseconds(400))
        let paused = try clock.measure { result = try run("--rate", "1000", "--jobs", "1", url("busy?{1..2}")) }
        let records = try records(result?.output ?? Data())
        #expect(records[1]?["status"] as? Int == 429 && records[2]?["status"] as? Int == 200)
        #expect(paused >= .seconds(1))
    }

    @Test("a journal takes records in any order, and nothing else")
    func journal() throws {
        #expect(FetchJournal.entry(Array("{\"index\": 7, \"key\": \"00000000000000ff\", \"url\"".utf8))?.key == 255)
        for text in [
            "", "{\"index\": }", "{\"index\": -1, \"key\": \"0\"", "{\"index\": 99999999999999999999, \"key\": \"\"",
        ] {
            #expect(FetchJournal.entry(Array(text.utf8)) == nil, "\(text)")
        }
        var journal = FetchJournal()
        for index in [5, 1, 5, .max, 0] { journal.insert(index: index, key: 1) }
        #expect(journal.count == 2)
    }

    @Test("the bar has no more than the terminal is wide")
    func bar() {
        var progress = FetchProgress(total: nil, finished: 30, earlier: 10, failed: 2, running: 8)
        #expect(progress.text(elapsed: 2, width: 80) == "30 done, 2 failed, 8 running, 10/s")
        progress.total = 60
        #expect(
            progress.text(elapsed: 2, width: 79).hasPrefix("███") && progress.text(elapsed: 2, width: 79).count <= 79)
        #expect(progress.text(elapsed: 0, width: 10).count == 10)
    }
}
