import FixtureServer
import Foundation
import Testing

@Suite("Cookies of a session beside a Cookie field", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SessionCookieTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
        let (past, future) = (Date.now.timeIntervalSince1970 - 5, Date.now.timeIntervalSince1970 + 500)
        let cookies = [("s", "/", nil), ("old", "/", past), ("deep", "/a/b", future), ("wide", "/", future)].map {
            name, path, end -> [String: Any] in
            var cookie: [String: Any] = [
                "name": name, "value": "1", "domain": "127.0.0.1", "path": path, "isSecure": false, "isHTTPOnly": false,
            ]
            cookie["expires"] = end as Double?
            return cookie
        }
        let session: [String: Any] = ["version": 1, "cookies": cookies, "credentials": [] as [String]]
        try JSONSerialization.data(withJSONObject: session).write(to: folder.file("s.json"))
    }

    private var sent: String? { server.requests.last?.field("Cookie") }

    @Test("cookies that have ended are not sent, and those of longer paths come first")
    func item() throws {
        let url = server.url("/a/b/c").absoluteString
        _ = try Command.run(["--session", "./s.json", url, "Cookie:h=1"], in: folder.url)
        #expect(sent == "deep=1; s=1; wide=1; h=1")
        _ = try Command.run(["--session-read-only", "./s.json", url, "Cookie:wide=2"], in: folder.url)
        #expect(sent?.contains("wide=2") == true && sent?.contains("wide=1") == false && sent?.contains("old") == false)
    }

    @Test("an item of fetch with a Cookie field has the session's cookies too")
    func fetched() throws {
        let line = #"{"url": "\#(server.url("/get").absoluteString)", "headers": {"Cookie": "q=1"}}"#
        let result = try Command.run(["fetch", "--session", "./s.json"], in: folder.url, input: line + "\n")
        #expect(result.code == 0 && sent == "s=1; wide=1; q=1", "\(result) \(sent ?? "")")
    }

    @Test("SIGINT that is ignored from the start, as behind a script's &, stays ignored")
    func ignoredSignal() throws {
        let url = server.url("/delay/1").absoluteString
        let script = "$0 -o file '\(url)' & child=$!; sleep 0.5; kill -INT $child; wait $child; echo $?"
        let result = try Command.run(script: script, in: folder.url)
        #expect(String(decoding: result.output, as: UTF8.self) == "0\n", "\(result)")
        #expect(FileManager.default.fileExists(atPath: folder.file("file").path))
    }
}
