import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Fixture endpoints", .timeLimit(.minutes(TestTimeouts.minutes)))
struct EndpointTests {
    let server: FixtureServer

    init() throws {
        server = try FixtureServer.start()
    }

    /// The status and content that curl gets.
    private func curl(_ arguments: String...) throws -> (status: String, content: Data) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        process.arguments = ["-s", "-w", "\n%{http_code}"] + arguments
        let output = Pipe.closedOnExec()
        process.standardOutput = output
        try process.start()
        let data = output.fileHandleForReading.contentToEnd()
        process.waitUntilExit()
        let status = String(decoding: data.suffix(3), as: UTF8.self)
        return (status, Data(data.dropLast(4)))
    }

    @Test(
        "each endpoint has its status",
        arguments: [
            ("/get", "200"), ("/post", "405"), ("/status/418", "418"), ("/status/abc", "400"), ("/bytes/0", "200"),
            ("/bytes/-1", "400"),
            ("/delay/x", "400"), ("/redirect/2", "302"), ("/redirect-to", "400"), ("/cookies", "200"),
            ("/basic-auth/u/p", "401"),
            ("/bearer", "401"), ("/digest-auth/auth/u/p", "401"), ("/gzip", "200"), ("/brotli", "200"),
            ("/zstd", "200"),
            ("/etag/x", "200"), ("/range/100", "200"), ("/range/0", "404"), ("/image/png", "200"), ("/xml", "200"),
            ("/json", "200"),
            ("/drip?bytes=nan", "400"), ("/drip?code=inf", "400"), ("/drip?code=1e300", "400"),
            ("/drip?delay=nan&bytes=1", "400"), ("/drip?duration=x", "400"), ("/sse?duration=nan&count=1", "400"),
            ("/sse?count=1e300&duration=inf", "400"), ("/sse?count=-1", "200"),
            ("/response-headers?a=b%0d%0ac:d", "400"), ("/response-headers?Content-Length=5", "400"),
            ("/response-headers?a%20b=c", "400"), ("/response-headers?a=b&a=c", "200"),
            ("/nothing", "404"), ("/stream/3", "200"), ("/stream/1000", "400"), ("/drip?bytes=3&duration=0", "200"),
        ])
    func statuses(path: String, status: String) throws {
        #expect(try curl(server.url(path).absoluteString).status == status)
    }

    @Test(
        "Basic and Digest let the right user in",
        arguments: ["/basic-auth/u/p", "/digest-auth/auth/u/p", "/digest-auth/auth/u/p/SHA-256"])
    func authentication(path: String) throws {
        let url = server.url(path).absoluteString
        #expect(try curl("--anyauth", "-u", "u:p", url).status == "200")
        #expect(try curl("--anyauth", "-u", "u:wrong", url).status == "401")
    }

    @Test("codings are what they say", arguments: ["gzip", "deflate", "brotli", "zstd"])
    func codings(name: String) throws {
        let plain = try curl("--compressed", server.url("/\(name)").absoluteString).content
        #expect(try JSONSerialization.jsonObject(with: plain) is [String: Any])
    }

    @Test(
        "ranges follow RFC 9110 §14",
        arguments: [
            ("0-3", "206", "abcd"), ("24-27", "206", "yzab"), ("-2", "206", "uv"), ("98-", "206", "uv"),
            ("100-", "416", ""),
        ])
    func ranges(range: String, status: String, content: String) throws {
        let result = try curl("-r", range, server.url("/range/100").absoluteString)
        #expect(result.status == status)
        #expect(String(decoding: result.content, as: UTF8.self) == content)
    }

    @Test("the small document has 63 bytes")
    func small() throws {
        #expect(try curl(server.url("/small").absoluteString).content.count == 63)
    }

    @Test("an upload is counted and not kept")
    func upload() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("f")
        try Data(count: 3_000_000).write(to: file)
        let answer = try curl("-T", file.path, server.url("/upload").absoluteString).content
        let object = try JSONSerialization.jsonObject(with: answer) as? [String: Int]
        #expect(object?["byteCount"] == 3_000_000)
        #expect(server.requests.last?.body.isEmpty == true)
    }
}
