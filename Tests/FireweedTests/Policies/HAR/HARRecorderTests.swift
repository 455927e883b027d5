import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("HTTP archives", .timeLimit(.minutes(TestTimeouts.minutes)))
struct HARRecorderTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    /// An archive of an exchange of every kind.
    private func recorded(includesContent: Bool) async throws -> URL {
        let recorder = HARRecorder(includesContent: includesContent)
        let session = Session.isolated(eventMonitors: [recorder])
        let secret: HTTPHeaders = [.authorization(bearerToken: "hidden")]
        _ = await session.request(server.url("/get?a=1&b=x%20y&token=hidden"), headers: secret).serializingData()
            .response
        _ = await session.request(server.url("/cookies/set?c=4")).serializingData().response
        server.route("/form") { _ in .text("taken") }
        let form = session.request(
            server.url("/form"), method: .post, parameters: ["user": "u", "password": "hidden"])
        _ = await form.serializingData().response
        _ = await session.request(server.url("/gzip")).serializingData().response
        _ = await session.request(server.url("/bytes/100")).serializingData().response
        _ = await session.download(server.url("/bytes/100")).serializingData().response
        _ = await session.request("http://127.0.0.1:1/").serializingData().response
        _ = await session.request(server.url("/basic-auth/u/hidden")).authenticate(username: "u", password: "hidden")
            .serializingData().response
        let file = folder.file("exchange.har")
        try recorder.write(to: file)
        #expect(recorder.entryCount == 10)
        recorder.removeAll()
        #expect(recorder.entryCount == 0)
        return file
    }

    /// Runs a program of Python, which exits with 0 when it has nothing against its arguments.
    private func judge(_ python: String, _ program: String, _ arguments: [String]) throws -> (code: Int32, text: String)
    {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: python)
        process.arguments = ["-c", program] + arguments
        let output = Pipe.closedOnExec()
        process.standardOutput = output
        process.standardError = output
        try process.start()
        let text = String(decoding: output.fileHandleForReading.contentToEnd(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    @Test("Python finds everything that HAR 1.2 asks for, times that add up, and no secret", arguments: [false, true])
    func structure(includesContent: Bool) async throws {
        let file = try await recorded(includesContent: includesContent)
        let verdict = try judge(
            "/usr/bin/python3", Self.structureProgram, [file.path, includesContent ? "content" : ""])
        #expect(verdict.code == 0, "\(verdict.text)")
        let text = try String(contentsOf: file, encoding: .utf8)
        // The path of the last exchange names the password; nothing else may.
        #expect(!text.replacingOccurrences(of: "/basic-auth/u/hidden", with: "").contains("hidden"))
    }

    @Test("haralyzer reads it", .enabled(if: Haralyzer.isThere, "PyPI cannot be reached"))
    func haralyzer() async throws {
        let file = try await recorded(includesContent: true)
        let verdict = try judge(Haralyzer.python, Self.haralyzerProgram, [file.path])
        #expect(verdict.code == 0, "\(verdict.text)")
    }

    @Test("the reason and the head are kept as they came")
    func head() async throws {
        let head = "HTTP/1.1 200 Fine, thanks\r\nx-A: 1\r\nX-a:  2\r\nContent-Length: 0\r\n"
        let scripted = try ScriptedServer.start([.receiveHead, .send(head + "\r\n"), .close])
        let recorder = HARRecorder()
        let session = Session.isolated(eventMonitors: [recorder])
        let response = await session.request(scripted.url()).serializingData(emptyResponseCodes: [200]).response
        let transaction = try #require(response.metrics?.transactionMetrics.first)
        #expect(transaction.responseReasonPhrase == "Fine, thanks")
        #expect(transaction.responseHeadData.map { String(decoding: $0, as: UTF8.self) } == head)
        let object = try JSONSerialization.jsonObject(with: recorder.archive) as? [String: Any]
        let entry = ((object?["log"] as? [String: Any])?["entries"] as? [[String: Any]])?.first
        #expect((entry?["response"] as? [String: Any])?["statusText"] as? String == "Fine, thanks")
    }

    @Test("timings are those of the metrics")
    func timings() async throws {
        let recorder = HARRecorder()
        let session = Session.isolated(eventMonitors: [recorder])
        let metrics = try #require(await session.request(server.url("/delay/1")).serializingData().response.metrics)
        let object = try JSONSerialization.jsonObject(with: recorder.archive) as? [String: Any]
        let entry = ((object?["log"] as? [String: Any])?["entries"] as? [[String: Any]])?.first
        let time = try #require(entry?["time"] as? Double)
        #expect(abs(time - metrics.taskInterval.duration * 1000) < 1)
        let timings = try #require(entry?["timings"] as? [String: Double])
        #expect((timings["wait"] ?? 0) > 900 && timings["ssl"] == -1 && (timings["connect"] ?? -1) >= 0)
    }

    private static let structureProgram = """
        import json, sys, datetime
        har = json.load(open(sys.argv[1])); content = sys.argv[2] == "content"
        log = har["log"]
        assert log["version"] == "1.2" and log["creator"]["name"] and log["creator"]["version"]
        pages = {page["id"] for page in log["pages"]}
        for page in log["pages"]: assert page["title"] and "onLoad" in page["pageTimings"]
        entries = log["entries"]; assert len(entries) == 10, len(entries)
        last = None
        for e in entries:
            assert e["pageref"] in pages
            start = datetime.datetime.fromisoformat(e["startedDateTime"].replace("Z", "+00:00"))
            assert start.tzinfo is not None and (last is None or start >= last - datetime.timedelta(seconds=1)); last = start
            q, r, t = e["request"], e["response"], e["timings"]
            for key in ("method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"): assert key in q, key
            for key in ("status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL", "headersSize", "bodySize"): assert key in r, key
            assert "size" in r["content"] and "mimeType" in r["content"] and e["cache"] == {}
            for pair in q["headers"] + r["headers"] + q["queryString"] + q["cookies"] + r["cookies"]: assert set(pair) >= {"name", "value"}
            for key in ("blocked", "dns", "connect", "ssl"): assert t[key] == -1 or t[key] >= 0, t
            for key in ("send", "wait", "receive"): assert t[key] >= 0, t
            total = sum(max(0, t[key]) for key in ("blocked", "dns", "connect", "send", "wait", "receive"))
            assert abs(total - e["time"]) < 0.5, (total, e["time"])
            if r["status"]: assert e["serverIPAddress"] == "127.0.0.1" and e["connection"] and q["httpVersion"] == "HTTP/1.1"
            else: assert e["_error"] and r["httpVersion"] == ""
        query = {pair["name"]: pair["value"] for pair in entries[0]["request"]["queryString"]}
        assert query == {"a": "1", "b": "x y", "token": "[redacted]"}, query
        assert [e["response"]["status"] for e in entries] == [200, 302, 200, 200, 200, 200, 200, 0, 401, 200]
        assert entries[1]["response"]["redirectURL"] == "/cookies" and entries[1]["response"]["cookies"] == [{"name": "c", "value": "[redacted]"}]
        assert entries[2]["request"]["cookies"] == [{"name": "c", "value": "[redacted]"}]
        assert entries[3]["request"]["bodySize"] > 0 and entries[4]["response"]["content"]["size"] != entries[4]["response"]["bodySize"]
        assert ("postData" in entries[3]["request"]) == content and ("text" in entries[0]["response"]["content"]) == content
        if content:
            post = entries[3]["request"]["postData"]
            assert post["mimeType"].startswith("application/x-www-form-urlencoded") and {"name": "password", "value": "[redacted]"} in post["params"]
            assert entries[5]["response"]["content"]["text"] == "[redacted]"
            assert "text" not in entries[6]["response"]["content"]
        """

    private static let haralyzerProgram = """
        import json, sys
        from haralyzer import HarParser, HarPage
        har = json.load(open(sys.argv[1])); parser = HarParser(har)
        assert len(parser.pages) == 1 and len(parser.pages[0].entries) == 10, parser.pages
        page = parser.pages[0]
        assert page.get_requests and page.post_requests
        entry = page.entries[0]
        assert entry.request.method == "GET" and entry.response.status == 200 and entry.time > 0, entry
        assert entry.request.headers and entry.response.headers and entry.startTime
        """
}

/// haralyzer from PyPI, in a virtual environment in the build folder.
enum Haralyzer {
    private static let folder = Bundle.main.bundleURL.appendingPathComponent("haralyzer")
    static let python = folder.appendingPathComponent("bin/python3").path

    /// True when it is there, or could be installed; found out once.
    static let isThere: Bool = {
        if run(python, "-c", "import haralyzer") { return true }
        return run("/usr/bin/python3", "-m", "venv", folder.path)
            && run(python, "-m", "pip", "-q", "install", "--timeout", "10", "--retries", "1", "haralyzer")
    }()

    private static func run(_ program: String, _ arguments: String...) -> Bool {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.start()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
