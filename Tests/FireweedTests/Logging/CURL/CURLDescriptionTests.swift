import Dispatch
import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("curl commands as text", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CURLDescriptionTests {
    private func lines(_ request: URLRequest, _ secrets: CURLSecrets = .shown) -> [String] {
        request.cURLDescription(secrets: secrets).components(separatedBy: " \\\n\t")
    }

    private func request(
        _ url: String = "https://h.example/", _ method: String = "GET", _ headers: HTTPHeaders = [:],
        _ body: Data? = nil
    ) throws -> URLRequest {
        var request = try URLRequest(url: url, method: HTTPMethod(rawValue: method), headers: headers)
        request.httpBody = body
        return request
    }

    @Test("a plain request is written as documented")
    func documented() throws {
        let text = try request(
            "https://h.example/a?b=c", "POST", ["Content-Type": "application/json"], Data(#"{"a":"b"}"#.utf8)
        )
        .cURLDescription()
        #expect(
            text == """
                $ curl -v \\
                \t-X POST \\
                \t-H "Content-Type: application/json" \\
                \t-d "{\\"a\\":\\"b\\"}" \\
                \t"https://h.example/a?b=c"
                """)
    }

    @Test(
        "content goes where it survives",
        arguments: [
            (Data("a=b".utf8), #"-d "a=b""#), (Data("@x".utf8), #"--data-raw "@x""#), (Data("a!".utf8), "-d 'a!'"),
            (Data("it's!".utf8), #"-d 'it'\''s!'"#), (Data("$a `b` \\ \"".utf8), #"-d "\$a \`b\` \\ \"""#),
            (Data("a\nb\n".utf8), "-d \"a\nb\n\""), (Data("日本".utf8), #"-d "日本""#), (Data([0]), "--data-binary @-"),
            (Data("\u{FEFF}a".utf8), "-d \"\u{FEFF}a\""), (Data([0xFF]), "--data-binary @-"),
            (Data("a\r\n".utf8), "--data-binary @-"),
            (Data(count: 0), #"-d """#),
            (Data(repeating: 65, count: 99_999), "-d \"\(String(repeating: "A", count: 99_999))\""),
            (Data(repeating: 65, count: 100_000), "--data-binary @-"),
        ])
    func content(body: Data, expected: String) throws {
        let lines = lines(try request("https://h.example/", "POST", ["Content-Type": "x/y"], body))
        #expect(lines.dropLast().last == expected)
        #expect(lines[0].hasPrefix("$ printf '") == (expected == "--data-binary @-"))
    }

    @Test(
        "bytes for printf are in octal where they are not plain",
        arguments: [
            (Data([0, 0x31]), #"'\0001'"#), (Data("-n\0".utf8), #"'\055n\000'"#),
            (Data("100%\r\n'\\\0".utf8), #"'100%%\r\n\047\134\000'"#),
            (Data([0xC3, 0xBC, 0xFF]), #"'\303\274\377'"#), (Data("a-b\0\t".utf8), #"'a-b\000\011'"#),
        ])
    func printf(body: Data, expected: String) throws {
        let text = try request("https://h.example/", "PUT", [:], body).cURLDescription()
        #expect(text.hasPrefix("$ printf \(expected) | curl -v \\\n"))
    }

    @Test(
        "special cases have the option that they need",
        arguments: [
            ("https://h.example/", "HEAD", [:], "-I"), ("https://[::1]/", "GET", [:], "-g"),
            ("https://h.example/a/../b", "GET", [:], "--path-as-is"),
            ("https://h.example/", "GET", ["X-E": ""], #"-H "X-E;""#),
            ("https://h.example/", "GET", ["Cookie": "a=b"], #"-b "a=b""#),
            ("https://h.example/", "GET", ["Cookie": "plain"], #"-H "Cookie: plain""#),
            ("https://h.example/", "GET", ["Cookie": "@a=b"], #"-H "Cookie: @a=b""#),
            ("https://h.example/", "POST", [:], #"-H "Content-Type:""#),
            ("https://h.example/", "it's", [:], #"-X "it's""#),
            ("https://h.example/", "GET", ["X-C": "a\u{1B}[2Jb"], #"-H "X-C: a$(printf '\033')[2Jb""#),
        ] as [(String, String, HTTPHeaders, String)])
    func options(url: String, method: String, headers: HTTPHeaders, expected: String) throws {
        #expect(lines(try request(url, method, headers)).contains(expected))
    }

    @Test("fields that follow from the content are left to curl")
    func framing() throws {
        let text = try request(
            "https://h.example/", "POST", ["Content-Length": "3", "transfer-encoding": "chunked"], Data("abc".utf8)
        )
        .cURLDescription()
        #expect(!text.contains("Length") && !text.contains("chunked"))
    }

    @Test("for logs, secrets are hidden and everything else is there")
    func hidden() throws {
        let headers: HTTPHeaders = [
            "Authorization": "Bearer s3cret", "Cookie": "session=s3cret", "SET-COOKIE": "x=s3cret",
            "Proxy-Authorization": "s3cret",
            "X-Kept": "kept",
        ]
        let request = try request("https://us:s3cret@h.example/path?q=kept", "POST", headers, Data("body".utf8))
        let text = request.cURLDescription(secrets: .hidden)
        #expect(!text.contains("s3cret") && !text.contains("us:"))
        for part in [
            "X-Kept: kept", "REDACTED@h.example/path?q=kept", "-d \"body\"", "-b \"REDACTED\"",
            "Authorization: Bearer REDACTED",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        #expect(request.cURLDescription().contains("s3cret"))
    }

    /// Every field and parameter that logs and archives hide; the name of a parameter hides a field too.
    private static let secretFields = Redaction.standard.fieldNames.union(Redaction.standard.parameterNames).sorted()
    private static let secretParameters = Redaction.standard.parameterNames
        .union(Redaction.standard.wholeParameterNames).sorted()

    @Test("for logs, each field is hidden that logs and archives hide", arguments: secretFields)
    func hiddenField(name: String) throws {
        let text = try request("https://h.example/", "GET", [name: "s3cret"]).cURLDescription(secrets: .hidden)
        #expect(!text.contains("s3cret") && text.contains("REDACTED"))
    }

    @Test("for logs, each parameter of a URL is hidden that logs and archives hide", arguments: secretParameters)
    func hiddenParameter(name: String) throws {
        let request = try request("https://h.example/path?a=kept&\(name)=s3cret&b=kept#\(name)=s3cret")
        let url = "\"https://h.example/path?a=kept&\(name)=REDACTED&b=kept#\(name)=REDACTED\""
        #expect(lines(request, .hidden).last == url)
    }

    @Test(
        "for logs, what only resembles a secret is shown",
        arguments: [
            ("https://h.example/?page=1&country_code=2", "X-Kept", "a=1"),
            ("https://h.example/?to=https%3A%2F%2Fi%2F%3Fpage%3D1", "Referer", "https://i.example/?sort_key=1"),
            ("https://h.example/a[1]?q=%20", "X-Authors", "me"),
        ])
    func shown(url: String, name: String, value: String) throws {
        let request = try request(url, "GET", [name: value])
        #expect(request.cURLDescription(secrets: .hidden) == request.cURLDescription())
    }

    @Test("for logs, URLs in fields and in parameters lose their secrets")
    func nestedURLs() throws {
        let nested = try request(
            "https://us:s3cret@h.example/?to=https://i.example/?token=s3cret", "GET",
            ["Referer": "https://i.example/?token=s3cret"])
        let lines = lines(nested, .hidden)
        #expect(lines.contains("-H \"Referer: https://i.example/?token=REDACTED\""))
        #expect(lines.last == "\"https://REDACTED@h.example/?to=https://i.example/?token=REDACTED\"")
    }

    @Test(
        "for logs, forms and JSON lose their secrets",
        arguments: [
            ("application/x-www-form-urlencoded", "user=me&password=s3cret", "user=me&password=REDACTED"),
            ("application/json", #"{"user":"me","password":"s3cret"}"#, #"{"password":"REDACTED","user":"me"}"#),
            ("application/json; charset=utf-8", #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            ("application/json", #"{"password":"s3cr"#, "REDACTED"),
            ("application/x-ndjson", "{\"token\":\"s3cret\"}\n{}", "{\"token\":\"REDACTED\"}\n{}"),
            ("text/plain", "password=shown", "password=shown"),
        ])
    func hiddenContent(type: String, content: String, shown: String) throws {
        let headers: HTTPHeaders = ["Content-Type": type]
        let sent = try request("https://h.example/", "POST", headers, Data(content.utf8))
        let log = try request("https://h.example/", "POST", headers, Data(shown.utf8))
        #expect(sent.cURLDescription(secrets: .hidden) == log.cURLDescription())
    }

    @Test("the scheme of hidden credentials is shown")
    func hiddenScheme() throws {
        let session = Session(requestSetup: .eager, eventMonitors: [])
        let credential = URLCredential(user: "user", password: "s3cret", persistence: .none)
        let text = session.request("https://h.example/", shouldAutomaticallyResume: false)
            .authenticate(with: credential, schemes: .basic).cURLDescription(secrets: .hidden)
        #expect(text.contains("\t-u REDACTED:REDACTED \\\n\t--basic \\\n"))
    }

    @Test("credentials of a request are shown, or hidden")
    func credentials() throws {
        let session = Session(requestSetup: .eager, eventMonitors: [])
        func text(_ user: String, _ password: String, _ secrets: CURLSecrets = .shown) -> String {
            let request = session.request("https://h.example/", shouldAutomaticallyResume: false)
            return request.authenticate(username: user, password: password).cURLDescription(secrets: secrets)
        }
        #expect(text("user", "password").contains("\t-u user:password \\\n\t--anyauth \\\n"))
        #expect(text("user", "pa ss").contains("\t-u \"user:pa ss\" \\\n"))
        #expect(text("us:er", "p@ss").contains("\"https://us%3Aer:p%40ss@h.example/\""))
        #expect(!text("user", "s3cret", .hidden).contains("s3cret"))
        #expect(!text("us:er", "s3cret", .hidden).contains("us%3Aer"))
    }

    @Test("before there is a request, a sentence says so")
    func early() {
        let session = Session(startRequestsImmediately: false, eventMonitors: [])
        #expect(
            session.request("https://h.example/").cURLDescription()
                == "$ curl command could not be created: the request has not been made yet.")
    }

    @Test("handlers hear of the command when there is one, on their queue, each in its own style")
    func handlers() async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated(startRequestsImmediately: false)
        let queue = DispatchQueue(label: "curl")
        let request = session.request(server.url("/get"), headers: ["Authorization": "Bearer s3cret"])
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        request.cURLDescription { continuation.yield("a\($0)") }
        request.cURLDescription(secrets: .hidden, on: queue) { text in
            dispatchPrecondition(condition: .onQueue(queue))
            continuation.yield("b\(text)")
        }
        request.resume()
        var texts: [String] = []
        for await text in stream.prefix(2) { texts.append(text) }
        texts.sort()
        #expect(texts[0].hasPrefix("a$ curl -v") && texts[0].contains("s3cret"))
        #expect(texts[1].hasPrefix("b$ curl -v") && !texts[1].contains("s3cret"))
        request.cURLDescription { continuation.yield($0) }
        for await text in stream.prefix(1) { #expect(text.hasPrefix("$ curl -v")) }
    }
}
