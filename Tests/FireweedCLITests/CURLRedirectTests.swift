import FixtureServer
import Foundation
import Testing

@testable import FireweedCLI

@Suite("Redirects of curl commands", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CURLRedirectTests: CURLSuite {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    @Test("--post301, --post302 and --post303 keep the method and the content", arguments: [301, 302, 303])
    func keptPOST(status: Int) throws {
        server.route("/moved") { _ in FixtureResponse(status: status, fields: [("Location", "/anything")]) }
        for (option, method, content) in [("", "GET", ""), (" --post\(status)", "POST", "a=b")] {
            #expect(try run("-L -d a=b\(option)", "/moved").code == 0)
            let last = try #require(server.requests.last)
            #expect(last.method == method && String(decoding: last.body, as: UTF8.self) == content)
            #expect((last.field("Content-Type") == "application/x-www-form-urlencoded") == (method == "POST"))
        }
    }

    @Test("with -X POST a redirect sends the file of -T again, except after a 303", arguments: [301, 302, 303, 307])
    func movedUpload(status: Int) throws {
        server.route("/moved") { _ in FixtureResponse(status: status, fields: [("Location", "/anything")]) }
        try write("content", "file")
        #expect(try run("-sSL -X POST -T file", "/moved").code == 0)
        let last = try #require(server.requests.last)
        #expect(last.method == "POST" && last.target == "/anything")
        #expect(String(decoding: last.body, as: UTF8.self) == (status == 303 ? "" : "content"))
        #expect(last.field("Transfer-Encoding") == nil && last.field("Content-Type") == nil)
    }

    @Test("a symbolic link is sent again with the length of its file")
    func movedLink() throws {
        server.route("/moved") { _ in FixtureResponse(status: 302, fields: [("Location", "/anything")]) }
        try write("content", "file")
        try FileManager.default.createSymbolicLink(at: folder.file("link"), withDestinationURL: folder.file("file"))
        #expect(try run("-sSL -X POST -T link", "/moved").code == 0)
        #expect(server.requests.last?.body == Data("content".utf8))
    }

    @Test(
        "a long form is sent to every URL, and again after a redirect",
        arguments: ["-F f=@long", "-F 'f=<long'", "-F 'f=@long,short'"])
    func longForms(form: String) throws {
        try write(String(repeating: "long", count: 300_000), "long")
        try write("short", "short")
        server.route("/moved") { _ in FixtureResponse(status: 302, fields: [("Location", "/anything")]) }
        let (a, b) = (url("/anything/a"), url("/anything/b"))
        #expect(try command("curl -sS -o x -o y \(form) \(a) \(b)").code == 0)
        #expect(try run("-sSL -o x --post302 \(form)", "/moved").code == 0)
        let targets = ["/anything/a", "/anything/b", "/moved", "/anything"]
        #expect(server.requests.map(\.target) == targets)
        #expect(server.requests.allSatisfy { $0.bodyByteCount > 1_200_000 && $0.field("Content-Length") != nil })
    }

    @Test("the first of several Location fields counts")
    func severalLocations() throws {
        server.route("/moved") { _ in
            FixtureResponse(status: 302, fields: [("Location", "/anything/1"), ("Location", "/anything/2")])
        }
        #expect(try run("-sSL", "/moved").code == 0)
        #expect(server.requests.last?.target == "/anything/1")
    }

    @Test("a response with an empty Location is the answer")
    func emptyLocation() throws {
        server.route("/moved") { _ in
            FixtureResponse(status: 302, fields: [("Location", "")], body: .data(Data("here".utf8)))
        }
        let result = try run("-sSL", "/moved")
        #expect(result.code == 0 && result.output == Data("here".utf8), "\(result.errors)")
    }

    @Test("a form stays a form where a POST stays a POST")
    func movedForm() throws {
        server.route("/moved") { _ in FixtureResponse(status: 301, fields: [("Location", "/anything")]) }
        #expect(try run("-sSL --post301 -F a=b", "/moved").code == 0)
        let last = try #require(server.requests.last)
        #expect(last.method == "POST")
        #expect(last.field("Content-Type")?.hasPrefix("multipart/form-data; boundary=") == true)
        #expect(String(decoding: last.body, as: UTF8.self).contains("name=\"a\"\r\n\r\nb"))
    }

    @Test("--location-trusted takes credentials to other hosts, and -L does not")
    func trustedRedirects() throws {
        let other = try FixtureServer.start()
        let away = "/redirect-to?url=\(other.url("/anything").absoluteString)"
        let basic = "Basic dTpw"
        for (options, field) in [
            ("-L -u u:p", nil), ("--location-trusted -u u:p", basic), ("-L -H 'Authorization: x'", nil),
            ("--location-trusted -H 'Authorization: x'", "x"), ("--location-trusted --oauth2-bearer t", "Bearer t"),
        ] as [(String, String?)] {
            #expect(try run(options, away).code == 0)
            #expect(other.requests.last?.field("Authorization") == field, "\(options)")
        }
        #expect(try run("--location-trusted --digest -u u:p", away).code == 64)
    }

    @Test("a Location with spaces and other letters is escaped as curl does it")
    func locations() throws {
        let base = try #require(URL(string: "http://h/a/b?c"))
        for (location, target) in [
            ("/x y?p q", "http://h/x%20y?p+q"), ("é", "http://h/a/%c3%a9"), ("http://o/a/../b c", "http://o/b%20c"),
        ] {
            #expect(CURLLocation.url(location, from: base)?.absoluteString == target)
        }
        #expect(CURLLocation.url("/x?y=%20", from: base) == nil)
    }

    @Test("after a redirect that drops the content, there is no length", arguments: ["-d x=1", "-F a=b", "-T a.txt"])
    func lengthOfNothing(options: String) throws {
        server.route("/moved") { _ in FixtureResponse(status: 303, fields: [("Location", "/anything")]) }
        try write("text", "a.txt")
        #expect(try run("-sSL \(options)", "/moved").code == 0)
        let last = try #require(server.requests.last)
        #expect(last.method == "GET" && last.field("Content-Length") == nil, "\(last.fields)")
    }
}
