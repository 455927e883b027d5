import CommandLanguage
import Fireweed
import FixtureServer
import Foundation
import Testing

@testable import FireweedCLI

@Suite("--from-curl, option by option", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CURLTransferTests: CURLSuite {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    @Test(
        "fields and methods are those that curl sends",
        arguments: [
            ("-r 0-9", "Range", "bytes=0-9"), ("-e http://a.example/", "Referer", "http://a.example/"),
            ("-A tool/1", "User-Agent", "tool/1"), ("-b 'a=1;b=2' -b c=3", "Cookie", "a=1;b=2;c=3"),
            ("-z '21 Oct 2015 07:28:00'", "If-Modified-Since", "Wed, 21 Oct 2015 07:28:00 GMT"),
            ("-z -2015-10-21", "If-Unmodified-Since", "Wed, 21 Oct 2015 00:00:00 GMT"),
            ("--etag-compare tag", "If-None-Match", "\"x\""), ("--etag-compare none", "If-None-Match", "\"\""),
            ("--oauth2-bearer t", "Authorization", "Bearer t"), ("-H @fields", "X-B", "2"),
            ("-d a -H 'Content-Type: x/y'", "Content-Type", "x/y"), ("--json {}", "Content-Type", "application/json"),
            ("-T up", "Expect", "100-continue"),
            ("-T up -H 'Transfer-Encoding: chunked'", "Transfer-Encoding", "chunked"),
            ("-T - ", "Transfer-Encoding", "chunked"), ("-T up -C 4", "Content-Range", "bytes 4-7/8"),
        ])
    func fields(options: String, name: String, value: String) throws {
        try write("\"x\"\n", "tag")
        try write("X-A: 1\nX-B: 2\n", "fields")
        try write("uploaded", "up")
        let result = try run(options)
        #expect(result.code == 0, "\(result.errors)")
        #expect(server.requests.last?.field(name) == value, "\(String(describing: server.requests.last?.fields))")
    }

    @Test(
        "content is that which curl sends",
        arguments: [
            ("--data-urlencode 'a=b c&d'", "a=b+c%26d"), ("-d @lines", "onetwo"),
            ("--data-binary @lines", "one\ntwo\n"),
            ("--expand-data 'x{{v}}{{v:url}}\\{{' --variable v='a b'", "xa ba%20b{{"),
            ("--expand-data '{{v:trim:json}}' --variable v@lines", "one\\ntwo"), ("--next -d y", "y"),
        ])
    func content(options: String, expected: String) throws {
        try write("one\ntwo\n", "lines")
        let ordered = options.contains("--variable v") ? options.split(separator: " --variable ") : [Substring(options)]
        let words = ordered.count == 2 ? "--variable \(ordered[1]) \(ordered[0])" : options
        let first = words.hasPrefix("--next") ? "'\(url("/get"))' " : ""
        let result = try run(first + words)
        #expect(result.code == 0, "\(result.errors)")
        #expect(server.requests.last.map { String(decoding: $0.body, as: UTF8.self) } == expected)
    }

    @Test("a form with an own content type has its boundary, and parts have types, names and fields")
    func forms() throws {
        try write("text", "a.txt")
        let options =
            "-H 'Content-Type: multipart/form-data; charset=utf-8' -F 'f=@a.txt;filename=\"q\\\"\"' "
            + "-F 'g=<a.txt;type=x/y' -F 'h=v;headers=\"X-P: 1\"' -F 'm=@a.txt,a.txt'"
        #expect(try run(options).code == 0)
        let request = try #require(server.requests.last)
        let type = try #require(request.field("Content-Type"))
        #expect(type.hasPrefix("multipart/form-data; charset=utf-8; boundary=------------------------"))
        #expect(try run("-H 'Content-Type: multipart/form-data; boundary=xyz' -F a=1").code == 0)
        let parts = try #require(server.requests.last?.field("Content-Type")).components(separatedBy: "boundary=")
        let content = String(decoding: server.requests.last?.body ?? Data(), as: UTF8.self)
        #expect(parts.count == 3 && parts[1] == "xyz; " && content.hasPrefix("--\(parts[2])\r\n"))
        let body = String(decoding: request.body, as: UTF8.self)
        for part in [
            "form-data; name=\"f\"; filename=\"q%22\"\r\nContent-Type: text/plain\r\n\r\ntext",
            "form-data; name=\"g\"\r\nContent-Type: x/y\r\n\r\ntext", "X-P: 1\r\n",
            "Content-Disposition: attachment; filename=\"a.txt\"", "Content-Type: multipart/mixed; boundary=",
        ] { #expect(body.contains(part), "\(part) in \(body)") }
    }

    @Test(
        "only the first character of a part's value makes it a file, and spaces before names and texts do not count",
        arguments: [
            ("f= @a.txt", "@a.txt"), ("f= <b>x", "<b>x"), ("f= (x", "(x"), ("f=@ a.txt", "text"), ("f=< a.txt", "text"),
        ])
    func spaces(field: String, content: String) throws {
        try write("text", "a.txt")
        #expect(try run("-F '\(field)'").code == 0)
        let body = String(decoding: server.requests.last?.body ?? Data(), as: UTF8.self)
        #expect(body.contains("\r\n\r\n\(content)\r\n--"), "\(body)")
    }

    @Test("Digest, NTLM, netrc files and the user of the URL choose the credentials")
    func credentials() throws {
        let guarded = "/digest-auth/auth/us/pw"
        #expect(try run("--digest -u us:pw -f", guarded).code == 0)
        try write("machine 127.0.0.1 login \"us\" password \"p w\"\nmachine 127.0.0.1 login other password two\n", "rc")
        #expect(try run("--netrc-file rc -f", "/basic-auth/us/p%20w").code == 0)
        let named = url("/basic-auth/other/two").replacing("http://", with: "http://other@")
        #expect(try command("curl --netrc-file rc -f \(named)").code == 0)
        #expect(try run("-n -f", "/basic-auth/us/p%20w", environment: ["NETRC": folder.file("rc").path]).code == 0)
        #expect(try run("-u a:b --netrc-file rc").code == 0)
        #expect(server.requests.last?.field("Authorization") == "Basic \(Data("a:b".utf8).base64EncodedString())")
        #expect(try run("--netrc-file none", "/get").code == 0)
    }

    @Test("cookies come from files, are kept where curl keeps them, and written")
    func cookies() throws {
        try write("127.0.0.1\tFALSE\t/\tFALSE\t0\tfile\t1\nother.example\tFALSE\t/\tFALSE\t0\tno\t1\n", "jar")
        #expect(try run("-b jar -b own=2", "/cookies").code == 0)
        let sent = try #require(server.requests.last?.field("Cookie"))
        #expect(Set(sent.components(separatedBy: "; ")) == ["file=1", "own=2"])
        #expect(try run("-L", "/cookies/set?a=1").code == 0)
        #expect(server.requests.last?.field("Cookie") == nil)
        #expect(try run("-L -c out", "/cookies/set?a=1").code == 0)
        #expect(server.requests.last?.field("Cookie") == "a=1")
        #expect(read("out")?.contains("127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1\n") == true, "\(read("out") ?? "")")
        #expect(try command("curl -c out '\(url("/cookies/set?b=2"))' --next '\(url("/get"))'").code == 0)
        // A part without -b and -c neither sends nor loses cookies.
        let (get, last) = (url("/get"), url("/cookies"))
        let set = url("/cookies/set?a=1")
        #expect(try command("curl -sS -c out '\(set)' --next -sS '\(get)' --next -sS -c out2 '\(last)'").code == 0)
        #expect(server.requests.suffix(2).map { $0.field("Cookie") } == [nil, "a=1"])
        #expect(read("out2")?.contains("\ta\t1\n") == true)
    }

    @Test("several URLs, globs and --next are sent in their order, each with its own output")
    func several() throws {
        let text =
            "curl -o 'n#1' '\(url("/anything/"))[1-2]' -o two '\(url("/get"))' --next -X PUT '\(url("/anything/3"))'"
        let result = try command(text)
        #expect(result.code == 0, "\(result.errors)")
        #expect(server.requests.map(\.target) == ["/anything/1", "/anything/2", "/get", "/anything/3"])
        #expect(server.requests.last?.method == "PUT")
        #expect(["n1", "n2", "two"].allSatisfy { read($0) != nil })
        #expect(String(decoding: result.output, as: UTF8.self).contains("\"PUT\""))
    }

    @Test("-J takes the name of the response where the path of -O has none")
    func slashWithName() throws {
        server.route("/cd/") { _ in
            .text("content", fields: [("Content-Disposition", "attachment; filename=\"report\"")])
        }
        #expect(try run("-s -OJ", "/cd/").code == 0 && read("report") == "content")
        #expect(try run("-s -O", "/cd/").code == 64)
    }

    @Test("--etag-save of a file that cannot be written is a failure, before anything is sent where that is known")
    func unwritableTag() throws {
        try FileManager.default.createDirectory(at: folder.file("d"), withIntermediateDirectories: false)
        try write("keep", "kept")
        try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: folder.file("kept").path)
        for file in ["no/tag", "d", "kept"] {
            let result = try run("-s --etag-save \(file) -o o", "/etag/x")
            #expect(result.code == 1 && result.errors.contains("\(file) "), "\(file): \(result.errors)")
        }
        #expect(server.requests.isEmpty && read("kept") == "keep" && read("o") == nil)
        let full = try run("-sS --etag-save /dev/full", "/etag/x")
        #expect(full.code == 1 && full.errors.contains("/dev/full cannot be written: No space left"), "\(full.errors)")
    }

    @Test("files go where curl puts them: --output-dir, --create-dirs, -O, --no-clobber, -D, --etag-save and -C")
    func files() throws {
        server.route("/tagged") { request in
            let whole = Data("0123456789".utf8)
            let start = request.field("Range").flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
            return FixtureResponse(
                status: start > 0 ? 206 : 200,
                fields: [("ETag", "\"e\""), ("Content-Range", "bytes \(start)-9/10")],
                body: .data(whole.dropFirst(start)))
        }
        #expect(try run("-s --output-dir deep/er --create-dirs -O -D heads --etag-save tag", "/tagged").code == 0)
        #expect(read("deep/er/tagged") == "0123456789" && read("tag") == "\"e\"\n")
        #expect(read("heads")?.hasPrefix("HTTP/1.1 200 OK\r\n") == true)
        try write("012", "part")
        #expect(try run("-C - -o part", "/tagged").code == 0)
        #expect(read("part") == "0123456789")
        #expect(try run("--no-clobber -o part", "/tagged").code == 0)
        #expect(read("part.1") == "0123456789")
        #expect(try run("--max-filesize 5 -o part", "/tagged").code != 0)
    }

    @Test("a range in the host of a URL is a range, and -s holds behind --next too")
    func rangeOfHosts() throws {
        let port = server.port
        let names = (1...2).map { "--resolve h\($0).test:\(port):127.0.0.1" }.joined(separator: " ")
        let result = try command("curl \(names) 'http://h[1-2].test:\(port)/anything' --next -s -o b '\(url("/get"))'")
        #expect(result.code == 0 && result.errors.isEmpty, "\(result.errors)")
        #expect(server.requests.prefix(2).map { $0.field("Host") } == (1...2).map { "h\($0).test:\(port)" })
    }

    @Test("--no-clobber replaces no file under the URL's name either, and no file of the same command")
    func noClobber() throws {
        try write("precious", "name")
        #expect(try run("-sS -OJ --no-clobber", "/anything/name").code == 0)
        #expect(read("name") == "precious" && read("name.1")?.contains("/anything/name") == true)
        let (one, two) = (url("/anything/1/x"), url("/anything/2/x"))
        #expect(try command("curl -sS -OJ --no-clobber \(one) -O \(two)").code == 0)
        #expect(read("x")?.contains("/anything/1/x") == true && read("x.1")?.contains("/anything/2/x") == true)
        #expect(try command("curl -sS -Z --no-clobber -o y -o y \(one) \(two)").code == 0)
        let both = Set(["y", "y.1"].map { read($0)?.contains("/anything/1/x") })
        #expect(both == [true, false])
    }

    @Test("-i has the head of the last attempt alone, in a file and on standard output")
    func headsOfRetries() throws {
        let counter = EventLog<Int>()
        server.route("/flaky") { _ in
            counter.note(1)
            return .text("content", status: counter.events.count % 2 == 0 ? 200 : 503)
        }
        let retry = "-sS -i --retry 2 --retry-delay 0.01"
        let printed = try run(retry, "/flaky")
        let text = String(decoding: printed.output, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 200") && text.hasSuffix("\r\n\r\ncontent"), "\(text)")
        for options in ["-o file", "-C - -o other"] { #expect(try run("\(retry) \(options)", "/flaky").code == 0) }
        for name in ["file", "other"] {
            let saved = read(name) ?? ""
            #expect(saved.hasPrefix("HTTP/1.1 200") && saved.hasSuffix("\r\n\r\ncontent"), "\(name): \(saved)")
        }
        #expect(try run("\(retry) -D heads -o last", "/flaky").code == 0)
        #expect(read("heads")?.hasPrefix("HTTP/1.1 503") == true)
        try write("0123", "part")
        #expect(try run("-sS -f -C - -o part", "/status/416").code == 0 && read("part") == "0123")
    }

    @Test("a file of option -d is read in linear time, and its bytes are encoded as they are")
    func largeData() throws {
        try write(String(repeating: "a\nb &", count: 200_000), "large")
        #expect(try run("-sS -d @large -o o").code == 0)
        #expect(server.requests.last?.bodyByteCount == 800_000)
        #expect(try run("-sS --data-urlencode @large -o o").code == 0)
        #expect(server.requests.last?.bodyByteCount == 200_000 * 9)
    }

    @Test("a file of options is read, and the proxy's exceptions of the environment hold")
    func configuration() throws {
        try write("# mine\n-X PATCH\nheader: \"X-A: \\\"b\\\"\"\nurl=\(url("/anything"))\nsilent\n", "options")
        #expect(try command("curl -K options").code == 0)
        #expect(server.requests.last?.method == "PATCH" && server.requests.last?.field("X-A") == "\"b\"")
        try write("silent\n\nnothing = x\n", "wrong")
        let wrong = try command("curl -K wrong")
        #expect(wrong.code == 64 && wrong.errors.contains("wrong, line 3: the option --nothing"), "\(wrong.errors)")
        let through = try run("-x http://127.0.0.1:1", "/get", environment: ["no_proxy": "127.0.0.1"])
        #expect(through.code == 0, "\(through.errors)")
    }

    @Test("cookies of a file go beside a Cookie field, and stay for HTTP alone; --location-trusted keeps every field")
    func cookiesAndKeys() throws {
        try write("#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t4102444800\tsess\tyes\n", "jar")
        #expect(try run("-b jar -c jar -H 'Cookie: z=1'", "/anything").code == 0)
        #expect(server.requests.last?.field("Cookie") == "sess=yes; z=1")
        #expect(read("jar")?.contains("#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t4102444800\tsess\tyes") == true)
        // Not a file of cookies: a line that is too long, bytes that are no text, and one cookie among them.
        let noise = Data(repeating: 0x61, count: 6_000) + [0x09, 0x0A, 0xFF, 0x09, 0x0A]
        try (noise + Data("127.0.0.1\tFALSE\t/\tFALSE\t0\ta\tb\r\n".utf8)).write(to: folder.file("noise"))
        #expect(try run("-b noise", "/anything").code == 0)
        #expect(server.requests.last?.field("Cookie") == "a=b")
        // A cookie of the run goes beside the field too, and one for TLS alone stays away from clear text.
        try write("ex.test\tFALSE\t/\tTRUE\t4102444800\tsecret\tyes\n", "secure")
        let place = "--resolve ex.test:\(server.port):127.0.0.1 http://ex.test:\(server.port)/anything"
        #expect(try command("curl -s -b secure -c secure \(place)").code == 0)
        #expect(server.requests.last?.field("Cookie") == nil)
        #expect(read("secure")?.contains("ex.test\tFALSE\t/\tTRUE\t4102444800\tsecret\tyes") == true)
        #expect(try run("-L -c new -H 'Cookie: z=1'", "/cookies/set?r=1").code == 0)
        #expect(Set((server.requests.last?.field("Cookie") ?? "").split(separator: "; ")) == ["r=1", "z=1"])
        let other = try FixtureServer.start()
        let target = "/redirect-to?url=\(other.url("/anything").absoluteString)"
        #expect(try run("-L --location-trusted -H 'X-Api-Key: k' -H 'Token: t'", target).code == 0)
        #expect(other.requests.last?.field("X-Api-Key") == "k" && other.requests.last?.field("Token") == "t")
    }

    @Test("-f fails from 400 on, and a 3xx is saved")
    func failures() throws {
        for option in ["-f", "--fail-with-body"] {
            #expect(try run("-sS \(option)", "/status/301").code == 0)
            #expect(try run("-sS \(option)", "/status/304").code == 0)
            #expect(try run("-sS \(option)", "/status/404").code != 0)
        }
        server.route("/moved") { _ in FixtureResponse(status: 302, body: .data(Data("moved".utf8))) }
        #expect(try run("-sS -f -o saved", "/moved").code == 0)
        #expect(read("saved") == "moved")
    }

    @Test("a switch with a value, in a file of options, asks for no further URL")
    func switches() throws {
        let other = try FixtureServer.start()
        let lines = [
            "fail=127.0.0.1:\(other.port)/leak", "-s = 127.0.0.1:\(other.port)/leak", "user = \"a:b\"",
            "no-verbose : yes", "data = \"a\u{2028}b\"", "url = \"\(url("/anything"))\"",
        ]
        try write(lines.joined(separator: "\r\n"), "options")
        let result = try command("curl -K options")
        #expect(result.code == 0 && server.requests.count == 1 && other.requests.isEmpty)
        #expect(result.errors.contains("options, line 1: a value too many is ignored"), "\(result.errors)")
        #expect(server.requests.last?.body == Data("a\u{2028}b".utf8))
        // Values that are attached, and words behind them.
        let attached = [
            "-HX-A:127.0.0.1:\(other.port)", "-da=b c", "-bsid=1", "-uc:d", "-XPUT # a comment", "-A tool/1 (x)",
            "url = \(url("/anything"))",
        ]
        try write(attached.joined(separator: "\n"), "options")
        #expect(try command("curl -s -K options").code == 0)
        #expect(server.requests.count == 2 && other.requests.isEmpty)
        let last = try #require(server.requests.last)
        #expect(last.method == "PUT" && last.field("X-A") == "127.0.0.1:\(other.port)")
        #expect(last.field("Cookie") == "sid=1")
        #expect(last.body == Data("a=b".utf8) && last.field("User-Agent") == "tool/1")
        #expect(last.field("Authorization") == "Basic \(Data("c:d".utf8).base64EncodedString())")
    }

    @Test("-U is for the proxy of the environment too, -b @ names a file, and a low speed is a time-out")
    func defaults() throws {
        let proxy = ["http_proxy": "127.0.0.1:\(server.port)"]
        #expect(try command("curl -s -U pu:pp http://x.example/get", environment: proxy).code == 0)
        let basic = "Basic \(Data("pu:pp".utf8).base64EncodedString())"
        #expect(server.requests.last?.field("Proxy-Authorization") == basic)
        // A user in the proxy's URL counts before -U.
        let known = ["http_proxy": "http://of:url@127.0.0.1:\(server.port)"]
        let own = "Basic \(Data("of:url".utf8).base64EncodedString())"
        #expect(try command("curl -s -U pu:pp http://x.example/get", environment: known).code == 0)
        #expect(server.requests.last?.field("Proxy-Authorization") == own)
        #expect(try command("curl -s -U pu:pp -x \(known["http_proxy"] ?? "") http://x.example/get").code == 0)
        #expect(server.requests.last?.field("Proxy-Authorization") == own)
        // In curl's order: the variable of the scheme in either case, then that for all schemes.
        let both = ["HTTPS_PROXY": "http://127.0.0.1:1", "all_proxy": "http://127.0.0.1:\(server.port)"]
        let count = server.requests.count
        #expect(try command("curl -s -U pu:pp https://h.invalid/", environment: both).code != 0)
        #expect(server.requests.count == count)
        try write("127.0.0.1\tFALSE\t/\tFALSE\t0\ta\tb\n", "jar")
        #expect(try run("-b @jar").code == 0)
        #expect(server.requests.last?.field("Cookie") == "a=b")
        #expect(try run("--speed-limit 1 -y 60").code == 0)
        #expect(try run("-Y 100").code == 64)
        #expect(try run("-y 0 -Y 0").code == 0)
    }

    @Test("options of a proxy are for that of the environment too, and for none if there is none")
    func proxyOptions() throws {
        let proxy = try HTTPProxyServer(user: "user", password: "secret")
        let environment = ["http_proxy": "http://127.0.0.1:\(proxy.port)"]
        let result = try run("-sS -p --proxy-anyauth -U user:secret", environment: environment)
        #expect(result.code == 0, "\(result.errors)")
        #expect(proxy.requests.last?.contains("CONNECT 127.0.0.1:\(server.port) ") == true, "\(proxy.requests)")
        #expect(try run("-sS -p --proxy-basic").code == 0)
    }

    @Test(
        "fields that decide about the connection are refused by name, before anything is sent",
        arguments: ["Upgrade: h2c", "TE: gzip", "Trailer: X", "Expect: 200-foo"])
    func connectionFields(line: String) throws {
        let result = try run("-s -H '\(line)'")
        #expect(result.code == 64 && result.errors.contains(line.prefix { $0 != ":" }), "\(result.errors)")
        #expect(server.requests.isEmpty)
        #expect(try run("-H 'Keep-Alive: 300' -H 'Connection: keep-alive'").code == 0)
    }

    @Test("heads of a proxy for CONNECT are shown, and left out on demand", arguments: [false, true])
    func tunnelHeads(isHidden: Bool) throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
        let script: [ScriptedServer.Action] = [
            .receiveHead, .send("HTTP/1.1 200 Tunnel\r\nX-P: 1\r\n\r\n"), .receiveHead, .send(answer + "ok"), .close,
        ]
        let proxy = try ScriptedServer.start(script, script, script)
        let common = "curl -s -p -x \(proxy.url().absoluteString) http://h.example/"
        let option = isHidden ? "--suppress-connect-headers" : ""
        let tunnel = isHidden ? "" : "HTTP/1.1 200 Tunnel\r\nX-P: 1\r\n\r\n"
        #expect(try String(decoding: command("\(common) -i \(option)").output, as: UTF8.self) == tunnel + answer + "ok")
        #expect(try command("\(common) -D heads \(option)").code == 0)
        #expect(read("heads") == tunnel + answer)
        #expect(try command("\(common) -i -o saved \(option)").code == 0)
        #expect(read("saved") == tunnel + answer + "ok")
    }

    @Test("-k goes with authorities, and pins are separated by semicolons")
    func trust() throws {
        #expect(try run("-k --cacert none").code == 0)
        let pin = "sha256//YLh1dUR9y6Kja30RrAn7JKnbQG/uEtLMkBgFF2Fuihg="
        #expect(try run("--pinnedpubkey '\(pin);\(pin)'").code == 0)
        let refused = try run("--pinnedpubkey key.pem")
        #expect(refused.code == 64 && refused.errors.contains("--pinnedpubkey"), "\(refused.errors)")
    }

    @Test("a redirect keeps the method of -X, drops a Host for another origin, and may name its origin")
    func redirects() throws {
        let other = try FixtureServer.start()
        let target = other.url("/anything").absoluteString
        server.route("/away") { _ in FixtureResponse(status: 302, fields: [("Location", target)]) }
        #expect(try run("-L -X PUT -H 'Host: own.example' -e 'http://a.example;auto'", "/away").code == 0)
        #expect(server.requests.last?.field("Host") == "own.example")
        let request = try #require(other.requests.last)
        #expect(request.method == "PUT" && request.field("Host") == "127.0.0.1:\(other.port)")
        #expect(request.field("Referer") == url("/away"))
    }

    @Test(
        "what cannot be carried out is refused by its name, and forms for other shells in a sentence",
        arguments: [
            ("curl --http3 h.example", "--http3"), ("curl -0 h.example", "-0"), ("curl -k -Q x h.example", "-Q"),
            ("curl -F 'a=@f;encoder=base64' h.example", "encoder="), ("curl -w '%{nope}' h.example", "%{nope}"),
            ("curl --preproxy socks5://a:1 h.example", "--preproxy"),
            ("curl -T a -T b h.example", "-T"),
            ("curl -I -d a h.example", "-I"), ("curl ftp://h.example", "ftp"),
            ("curl ^\"https://h.example/^\" ^\n -H ^\"a: b^\"", "cmd.exe"),
            ("Invoke-WebRequest -Uri \"https://h.example\"", "PowerShell"),
            ("curl.exe \"https://h.example\" `\n -H \"a: b\"", "PowerShell"), ("curl", "no URL"),
            ("curl -d", "-d"), ("curl -F '=(' h.example", "form within a form"),
        ])
    func refusals(text: String, part: String) throws {
        let result = try command(text)
        #expect(result.code == 64 && result.output.isEmpty, "\(result.errors)")
        #expect(result.errors.contains(part) && result.errors.count { $0 == "\n" } == 1, "\(result.errors)")
    }

    @Test(
        "lines of a file of options are read as curl reads them",
        arguments: [
            ("url = \"http://h/\"", "url", "http://h/"), ("-d =x y", "-d", "=x"), ("-HA:b c", "-HA:b", "c"),
            ("data = =x", "data", "x"), ("-u :p", "-u", ":p"), ("silent", "silent", nil),
            ("  data : \"a\\tb\\\"\"", "data", "a\tb\""),
        ] as [(String, String, String?)])
    func lines(line: String, name: String, value: String?) {
        let option = CURLConfiguration.option(line)
        #expect(option?.name == name && option?.value == value)
        #expect(CURLConfiguration.option("# url") == nil && CURLConfiguration.option("  ") == nil)
    }

    @Test("dates, dots and proxies are read as curl reads them")
    func words() {
        #expect(CURLDate.date(of: "20151021") == CURLDate.date(of: "Oct 21 2015"))
        #expect(CURLDate.date(of: "yesterday") == nil)
    }

    /// What curl 7.88 sends; the forms of ISO 8601 are read here, and not by curl.
    @Test(
        "dates of -z are in their time zone, and what is not understood is no date",
        arguments: [
            ("Tue, 03 Nov 2020 10:00:00 -0500", "Tue, 03 Nov 2020 15:00:00 GMT"),
            ("Tue, 03 Nov 2020 10:00:00 +0100", "Tue, 03 Nov 2020 09:00:00 GMT"),
            ("Tue, 03 Nov 2020 10:00:00 +0000", "Tue, 03 Nov 2020 10:00:00 GMT"),
            ("Tue, 03 Nov 2020 10:00:00 EST", "Tue, 03 Nov 2020 15:00:00 GMT"),
            ("Tue Nov  3 10:00:00 PST 2020", "Tue, 03 Nov 2020 18:00:00 GMT"),
            ("3 Nov 2020 10:00:00 CEST", "Tue, 03 Nov 2020 08:00:00 GMT"),
            ("3 Nov 2020 10:00 A", "Tue, 03 Nov 2020 11:00:00 GMT"), ("3-Nov-20", "Tue, 03 Nov 2020 00:00:00 GMT"),
            ("20201103 10:00", "Tue, 03 Nov 2020 10:00:00 GMT"), ("Nov 3 2020", "Tue, 03 Nov 2020 00:00:00 GMT"),
            ("94 6 Nov 8:49:37", "Sun, 06 Nov 1994 08:49:37 GMT"), ("3 Nov 70", "Mon, 03 Nov 2070 00:00:00 GMT"),
            ("GMT 3 Nov 2020 10:00", "Tue, 03 Nov 2020 10:00:00 GMT"), ("10:00", nil), ("Nov 2020", nil),
            ("3 Nov", nil),
            ("3 Nov 2020 25:00", nil), ("32 Nov 2020", nil), ("31 Nov 2020", nil), ("3 Foo 2020", nil),
            ("2020-13-03", nil),
            ("3 Nov 2020 10:00 XYZ", nil), ("2020-11-03", "Tue, 03 Nov 2020 00:00:00 GMT"),
            ("2020-11-03 10:00:00 -0500", "Tue, 03 Nov 2020 15:00:00 GMT"),
            ("2020-11-03T10:00:00-05:00", "Tue, 03 Nov 2020 15:00:00 GMT"),
            ("2020-11-03T10:00:00.123Z", "Tue, 03 Nov 2020 10:00:00 GMT"),
            ("2020-11-03 10:00:00 CEST", "Tue, 03 Nov 2020 08:00:00 GMT"), ("2020-11-03T10:00:00+99:00", nil),
            ("", nil),
        ] as [(String, String?)])
    func dates(text: String, sent: String?) {
        #expect(CURLDate.date(of: text).map { HTTPDate.text(of: $0) } == sent)
        #expect(DotSegments.removed(from: "/a/./b/../c/..") == "/a/" && DotSegments.removed(from: "/../x") == "/x")
        #expect(CURLProxy.url("h.example", scheme: "http") == "http://h.example:1080")
        #expect(CURLProxy.url("https://u:p@h.example", scheme: "http") == "https://u:p@h.example:443")
        #expect(CURLProxy.adding(user: "a:b/", to: "http://h.example:1") == "http://a:b%2F@h.example:1")
    }

    @Test("each -T has its URL, braces in it are several files, and a URL without one is fetched")
    func severalUploads() throws {
        for name in ["one", "two"] { try write(name, name) }
        func sent(_ command: String) throws -> [String] {
            let count = server.requests.count
            let result = try self.command(command)
            #expect(result.code == 0, "\(result.errors)")
            return server.requests.dropFirst(count).map {
                "\($0.method) \($0.path) \(String(decoding: $0.body, as: UTF8.self))"
            }
        }
        let (a, b) = (url("/anything/a"), url("/anything/b"))
        #expect(
            try sent("curl -T one \(a) -T two \(b) -o x -o y") == ["PUT /anything/a one", "PUT /anything/b two"])
        #expect(read("x")?.contains("one") == true && read("y")?.contains("two") == true)
        #expect(try sent("curl -T '{one,two}' \(a)") == ["PUT /anything/a one", "PUT /anything/a two"])
        #expect(try sent("curl -T one \(a) \(b)") == ["PUT /anything/a one", "GET /anything/b "])
        let refused = try command("curl -T one -T two \(a)")
        #expect(refused.code == 64 && refused.errors.contains("no URL for -T two"), "\(refused.errors)")
    }

    @Test("--resolve with * is for every host, --retry sends a POST again, and cookies are in curl's order")
    func others() throws {
        let port = server.port
        let result = try command("curl --resolve '*:\(port):127.0.0.1' http://some.invalid:\(port)/anything")
        #expect(result.code == 0 && server.requests.last?.field("Host") == "some.invalid:\(port)")
        let counter = EventLog<Int>()
        server.route("/busy") { _ in
            counter.note(1)
            return .text("", status: counter.events.count > 1 ? 200 : 503)
        }
        #expect(try run("-d a --retry 1000 --retry-delay 0.01 -f", "/busy").code == 0 && counter.events.count == 2)
        let cells = ["127.0.0.1", "FALSE", "/", "FALSE", "0"]
        let names = ["b1", "long", "b2"].map { (cells + [$0, "v"]).joined(separator: "\t") }
        try write(names.joined(separator: "\n"), "jar")
        #expect(try run("-b jar").code == 0)
        #expect(server.requests.last?.field("Cookie") == "long=v; b2=v; b1=v")
    }
}
