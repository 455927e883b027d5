import FixtureServer
import Foundation
import Glibc
import Synchronization
import Testing

/// Output and messages, as people meet them who use the command beside curl.
@Suite("Everyday output", .timeLimit(.minutes(TestTimeouts.minutes)))
struct EverydayOutputTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func run(
        _ arguments: String..., input: String? = nil, environment: [String: String] = [:]
    ) throws -> CommandResult {
        try Command.run(arguments, in: folder.url, input: input, environment: environment)
    }

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    private func text(_ result: CommandResult) -> String { String(decoding: result.output, as: UTF8.self) }

    private func data(_ name: String) throws -> Data { try Data(contentsOf: folder.file(name)) }

    private func read(_ name: String) throws -> String { String(decoding: try data(name), as: UTF8.self) }

    /// Content whose end does not come.
    private func cut(_ content: Data, to count: Int) -> FixtureResponse.Body {
        .pieces(byteCount: content.count) { $0 == 0 ? .bytes(content.prefix(count)) : .end }
    }

    private static let gzipMagic = Data([0x1F, 0x8B])

    @Test("a file gets content as it was sent; a coding is taken off where it was asked for")
    func codings() throws {
        let page = url("/gzip")
        let own = try run("-o", "own", page)
        #expect(own.code == 0 && own.errors.contains("has the coding gzip"), "\(own.errors)")
        #expect(try data("own").prefix(2) == Self.gzipMagic)
        #expect(server.requests.last?.field("Accept-Encoding") == "identity")
        #expect(try run("--from-curl", "curl -o plain \(page)").code == 0)
        #expect(try data("plain").prefix(2) == Self.gzipMagic)
        #expect(try run("--from-curl", "curl -s \(page)").output.prefix(2) == Self.gzipMagic)
        #expect(try run("--from-curl", "curl --compressed -o decoded \(page)").code == 0)
        #expect(try read("decoded").contains("gzipped"))
        #expect(text(try run("--from-curl", "curl -s --compressed \(page)")).contains("gzipped"))
        #expect(text(try run(page)).contains("gzipped"))
    }

    @Test("curl -i and -I write heads where the content goes, -D - in front of it")
    func heads() throws {
        server.route("/page") { _ in
            FixtureResponse(status: 200, fields: [("X-Own", "1")], body: .data(Data("text".utf8)))
        }
        let page = url("/page")
        #expect(try run("--from-curl", "curl -s -i -o whole \(page)").code == 0)
        let whole = try read("whole")
        #expect(whole.hasPrefix("HTTP/1.1 200 OK\r\n") && whole.contains("X-Own: 1\r\n"), "\(whole)")
        #expect(whole.hasSuffix("\r\n\r\ntext"), "\(whole)")
        #expect(try run("--from-curl", "curl -s -I -o head \(page)").code == 0)
        #expect(try read("head").hasPrefix("HTTP/1.1 200 OK\r\n"))
        let dumped = text(try run("--from-curl", "curl -s -D - \(page)"))
        #expect(dumped.hasPrefix("HTTP/1.1 200 OK\r\n") && dumped.hasSuffix("\r\n\r\ntext"), "\(dumped)")
    }

    @Test("curl -i and -I write where the path leads: through links, into devices, without another mode")
    func headsElsewhere() throws {
        let page = url("/get")
        try "old".write(to: folder.file("target"), atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: folder.file("target").path)
        try FileManager.default.createSymbolicLink(at: folder.file("link"), withDestinationURL: folder.file("target"))
        #expect(try run("--from-curl", "curl -s -i -o link \(page)").code == 0)
        #expect(try read("target").hasPrefix("HTTP/1.1 200 OK\r\n"))
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("target").path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file("link").path).hasSuffix("target"))
        let checked = try run("--from-curl", "curl -sLI -o /dev/null -w '%{http_code}' \(page)")
        #expect(checked.code == 0 && text(checked) == "200", "\(checked.errors)")
        let device = try FileManager.default.attributesOfItem(atPath: "/dev/null")
        #expect(device[.type] as? FileAttributeType == .typeCharacterSpecial)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == ["link", "target"])
    }

    @Test(
        "a copied command keeps its file where nothing is modified",
        arguments: ["-z kept -o kept", "-z kept -O", "--etag-compare tag -o kept", "-H 'If-None-Match: \"a\"' -o kept"])
    func unmodified(_ options: String) throws {
        server.route("/kept") { _ in FixtureResponse(status: 304) }
        try "content".write(to: folder.file("kept"), atomically: true, encoding: .utf8)
        try "\"a\"".write(to: folder.file("tag"), atomically: true, encoding: .utf8)
        let result = try run("--from-curl", "curl -s \(options) \(url("/kept"))")
        #expect(result.code == 0, "\(result.errors)")
        #expect(try read("kept") == "content")
        #expect(try run("--any-status", "-o", "kept", url("/kept")).code == 1)
        #expect(try read("kept") == "content")
    }

    @Test(
        "-C - appends what comes behind the file alone",
        arguments: [
            "bytes 0-9/10", "bytes 3-9/10", "bytes */10", "", "bytes 4-9/10",
        ])
    func continued(_ range: String) throws {
        server.route("/rest") { _ in
            FixtureResponse(
                status: 206, fields: range.isEmpty ? [] : [("Content-Range", range)], body: .data(Data("456789".utf8)))
        }
        try "0123".write(to: folder.file("rest"), atomically: true, encoding: .utf8)
        let result = try run("--from-curl", "curl -sS -C - -O \(url("/rest"))")
        let isNext = range.hasPrefix("bytes 4")
        #expect((result.code == 0) == isNext, "\(result.errors)")
        #expect(try read("rest") == (isNext ? "0123456789" : "0123"))
    }

    @Test("-C - counts the bytes of what a link leads to, and of each of several files")
    func continuedFiles() throws {
        let whole = "0123456789"
        for name in ["one", "two"] {
            server.route("/\(name)") { request in
                let start = Int((request.field("Range") ?? "bytes=0-").filter(\.isNumber)) ?? 0
                return FixtureResponse(
                    status: start > 0 ? 206 : 200,
                    fields: start > 0 ? [("Content-Range", "bytes \(start)-9/10")] : [],
                    body: .data(Data(whole.dropFirst(start).utf8)))
            }
            try String(whole.prefix(4)).write(to: folder.file(name), atomically: true, encoding: .utf8)
        }
        #expect(try run("--from-curl", "curl -sS -C - -O \(url("/one")) -O \(url("/two"))").code == 0)
        #expect(try read("one") == whole && read("two") == whole)
        try "012".write(to: folder.file("two"), atomically: true, encoding: .utf8)
        try FileManager.default.createSymbolicLink(at: folder.file("link"), withDestinationURL: folder.file("two"))
        #expect(try run("--from-curl", "curl -sS -C - -o link \(url("/two"))").code == 0)
        #expect(try read("two") == whole)
    }

    @Test("-C - keeps what came before an interruption, and the next run goes on behind it", arguments: [false, true])
    func interrupted(isThere: Bool) throws {
        let whole = String(repeating: "0123456789", count: 20_000)
        server.route("/cut") { request in
            let start = Int((request.field("Range") ?? "bytes=0-").filter(\.isNumber)) ?? 0
            let rest = Data(whole.dropFirst(start).utf8)
            // The last answer is whole; the ones before it end early.
            return FixtureResponse(
                status: start > 0 ? 206 : 200,
                fields: start > 0 ? [("Content-Range", "bytes \(start)-199999/200000")] : [],
                body: start < 100_000 ? cut(rest, to: 60_000) : .data(rest))
        }
        if isThere { try "0123".write(to: folder.file("cut"), atomically: true, encoding: .utf8) }
        var codes: [Int32] = []
        while codes.last != 0, codes.count < 5 {
            codes.append(try run("--from-curl", "curl -sS -C - -o cut \(url("/cut"))").code)
        }
        #expect(codes.count == 3 && codes.last == 0, "\(codes)")
        #expect(try read("cut") == whole)
    }

    @Test("-C - with --retry has nothing twice")
    func continuedRetry() throws {
        let count = Mutex(0)
        server.route("/flaky") { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            let fields = [(name: "Content-Range", value: "bytes 4-9/10")]
            let rest = Data("456789".utf8)
            switch number {
            case 1: return FixtureResponse(status: 206, fields: fields, body: cut(rest, to: 3))
            case 2: return FixtureResponse(status: 503, body: .data(Data("busy".utf8)))
            default: return FixtureResponse(status: 206, fields: fields, body: .data(rest))
            }
        }
        try "0123".write(to: folder.file("flaky"), atomically: true, encoding: .utf8)
        let result = try run(
            "--from-curl", "curl -sS -C - --retry 3 --retry-delay 0.01 -O \(url("/flaky"))")
        #expect(result.code == 0, "\(result.errors)")
        #expect(try read("flaky") == "0123456789" && count.withLock { $0 } == 3)
    }

    @Test("-J puts the server's name into the folder of --output-dir")
    func namedInFolder() throws {
        server.route("/named") { _ in
            FixtureResponse(
                fields: [("Content-Disposition", "attachment; filename=\"a b.txt\"")], body: .data(Data("x".utf8)))
        }
        #expect(try run("--from-curl", "curl -sS -JO --output-dir into \(url("/named"))").code == 1)
        let result = try run("--from-curl", "curl -sS -JO --create-dirs --output-dir into \(url("/named"))")
        #expect(result.code == 0, "\(result.errors)")
        #expect(try read("into/a b.txt") == "x")
    }

    @Test(
        "each URL of a command has an output of its own",
        arguments: [
            ("-o f U/get?1 U/status/418 U/get?2", 2), ("-Z U/get?1 U/get?2 -o f", 1), ("-O U/get U/get?2", 1),
            ("-i -o f U/get?1 U/get?2", 1),
        ])
    func outputs(_ words: String, printed: Int) throws {
        let words = words.replacingOccurrences(of: "U/", with: url("/"))
        let result = try run("--from-curl", "curl -sS \(words)")
        #expect(result.code == 0, "\(result.errors)")
        let output = text(result)
        #expect(output.components(separatedBy: "\"url\"").count - 1 == (printed == 2 ? 1 : printed), "\(output)")
        #expect(output.hasPrefix("HTTP/") == words.contains("-i"))
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(files == [words.contains("-O") ? "get" : "f"])
    }

    @Test("-x '' and --noproxy are for their part of the command, whatever the environment names")
    func noProxy() throws {
        let dead = ["http_proxy": "http://127.0.0.1:1", "no_proxy": ""]
        #expect(try run("--from-curl", "curl -sS -x '' \(url("/get"))", environment: dead).code == 0)
        #expect(try run("--from-curl", "curl -sS \(url("/get"))", environment: dead).code != 0)
        let first = "curl -sS --noproxy 127.0.0.1 \(url("/get?1")) --next -sS \(url("/get?2"))"
        let parts = try run("--from-curl", first, environment: dead)
        #expect(parts.code != 0 && server.requests.last?.target == "/get?1")
    }

    @Test("a command that was copied from a web page says what is wrong with it, or works")
    func copied() throws {
        let fenced = try run("--from-curl", "```bash\ncurl -sS \(url("/get"))\n```")
        #expect(fenced.code == 0, "\(fenced.errors)")
        let dash = try run("--from-curl", "curl \u{2013}d a=b \(url("/post"))")
        #expect(dash.code == 64 && dash.errors.contains("dash of typography"), "\(dash.errors)")
        let quote = try run("--from-curl", "curl \(url("/get")) -H ‘Authorization: Bearer s3kret’")
        #expect(quote.code == 64 && quote.errors.contains("quote of typography"), "\(quote.errors)")
        #expect(try run("--from-curl", "curl").errors.contains("in quotes"))
        #expect(try run("--from-curl", "curl -sS -G -d a=b \(url("/get?"))").code == 0)
        #expect(server.requests.last?.target == "/get?a=b")
    }

    @Test(
        "what another shell would read differently is literal between quotes",
        arguments: ["{\"re\":\"[^\"]+\"}", "```\ncode\n```", "see `x`\nand", "a ^\nb"])
    func literal(content: String) throws {
        let target = url("/post")
        for command in ["curl -sS -d '\(content)' \(target)", "curl -sS \(target) --data-raw $'\(content)'"] {
            #expect(try run("--from-curl", command).code == 0, "\(command)")
        }
        #expect(server.requests.last?.body == Data(content.utf8))
    }

    @Test("a failure among several names its URL, and the notice of a retry its cause")
    func causes() throws {
        let several = try run("--check-status", url("/get"), url("/status/404"))
        #expect(several.errors.contains("\(url("/status/404")): the status is 404"), "\(several.errors)")
        server.route("/short") { [self] _ in FixtureResponse(body: cut(Data(count: 100), to: 0)) }
        let retried = try run("--retry", "1", "--retry-delay", "0.01", url("/short"))
        #expect(!retried.errors.contains("the status is 200") && retried.errors.contains("retry 1 of 1"))
    }

    @Test("in a pipe, heads have the line ends that they came with")
    func rawHeads() throws {
        for option in ["-i", "-I"] {
            let result = try run("--from-curl", "curl -sS \(option) \(url("/get"))")
            #expect(text(result).hasPrefix("HTTP/1.1 200 OK\r\n") && text(result).contains("\r\n\r\n"))
        }
    }

    @Test("-D has the heads of all URLs of a run")
    func headFile() throws {
        #expect(try run("--from-curl", "curl -sS -D heads \(url("/status/201")) \(url("/status/202"))").code == 0)
        let lines = try read("heads").split(separator: "\r\n").filter { $0.hasPrefix("HTTP/") }
        #expect(lines.map { $0.split(separator: " ")[1] } == ["201", "202"])
    }

    @Test("-w counts the content of the last response alone")
    func countedContent() throws {
        server.route("/from") { _ in
            FixtureResponse(status: 302, fields: [("Location", "/to")], body: .data(Data(count: 100)))
        }
        server.route("/to") { _ in FixtureResponse(body: .data(Data(count: 7))) }
        let result = try run("--from-curl", "curl -sSL -o /dev/null -w %{size_download} \(url("/from"))")
        #expect(text(result) == "7")
    }

    @Test("-X repeats its method after a redirect, and not the content of a POST", arguments: [301, 302, 303, 307])
    func customMethod(status: Int) throws {
        server.route("/from") { _ in FixtureResponse(status: status, fields: [("Location", "/anything")]) }
        #expect(try run("--from-curl", "curl -sSL -X PUT -d a=b \(url("/from"))").code == 0)
        let last = try #require(server.requests.last)
        #expect(last.method == "PUT" && last.path == "/anything")
        #expect(last.body == Data((status == 307 ? "a=b" : "").utf8))
        #expect((last.field("Content-Type") == nil) == (status != 307))
    }

    @Test("the last of several tries is saved as a single one is")
    func lastTry() throws {
        server.route("/busy") { _ in FixtureResponse(status: 503, body: .data(Data("busy".utf8))) }
        let own = try run("--retry", "1", "--retry-delay", "0.01", "--any-status", "-o", "a", url("/busy"))
        #expect(own.code == 0, "\(own.errors)")
        #expect(try read("a") == "busy")
        #expect(try run("--from-curl", "curl -s --retry 1 --retry-delay 1 -o b \(url("/busy"))").code == 0)
        #expect(try read("b") == "busy")
    }

    @Test("curl -IL prints each head, -w the status of no response as 000, and -JO replaces its own file")
    func chains() throws {
        let printed = text(try run("--from-curl", "curl -sIL \(url("/redirect/2"))"))
        #expect(printed.split(whereSeparator: \.isNewline).count { $0.hasPrefix("HTTP/1.1 ") } == 3, "\(printed)")
        let unreachable = try run("--from-curl", "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:1/")
        #expect(text(unreachable) == "000" && unreachable.code == 6)
        for _ in 0..<2 { #expect(try run("--from-curl", "curl -sJO \(url("/robots.txt"))").code == 0) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["robots.txt"])
    }

    @Test("a URL in the query of one without a scheme is no scheme")
    func queries() throws {
        let place = url("/get").replacing("http://", with: "")
        #expect(try run("--from-curl", "curl -s '\(place)?next=https://a.example/b'").code == 0)
        #expect(server.requests.last?.parameter("next") == "https://a.example/b")
    }

    @Test("a signal ends a command that waits for the reader of a file of heads")
    func blockedFile() async throws {
        let created = mkfifo(folder.file("pipe").path, 0o600)
        #expect(created == 0)
        let command = try RunningCommand(
            ["--from-curl", "curl -s -D pipe \(url("/get"))"], in: folder.url, hasInput: false)
        _ = await command.read(until: "}")
        while command.process.isRunning {
            command.process.terminate()
            await Task.yield()
        }
        #expect(await command.rest().code == 128 + SIGTERM)
    }

    @Test("heads of a further request begin a line")
    func severalHeads() throws {
        server.route("/page") { _ in FixtureResponse(status: 200, body: .data(Data("text".utf8))) }
        let output = text(try run("-v", url("/page"), url("/page")))
        #expect(output.contains("text\nGET /page"), "\(output)")
    }

    @Test("-w of a copied command takes the lines of its file as one")
    func format() throws {
        try "%{http_code}\\n\n%{method}\n".write(to: folder.file("format"), atomically: true, encoding: .utf8)
        #expect(text(try run("--from-curl", "curl -s -o /dev/null -w @format \(url("/get"))")) == "200\nGET")
    }

    @Test("the archive has the content that was sent")
    func archive() throws {
        #expect(try run("--har", "trace.har", url("/anything"), "name=Ada").code == 0)
        let object = try JSONSerialization.jsonObject(with: try data("trace.har")) as? [String: Any]
        let entries = (object?["log"] as? [String: Any])?["entries"] as? [[String: Any]]
        let request = entries?.first?["request"] as? [String: Any]
        let content = request?["postData"] as? [String: Any]
        #expect((content?["text"] as? String)?.contains("Ada") == true, "\(String(describing: request))")
    }

    @Test(
        "errors about configured options name the line of the file",
        arguments: [
            "--cacert nothere.pem", "--cert nothere.pem", "--session-read-only nothere/x/", "--select a\n--stream",
        ])
    func configuration(_ line: String) throws {
        let file = folder.file("config")
        try "# defaults\n\(line)\n".write(to: file, atomically: true, encoding: .utf8)
        let result = try run(url("/get"), environment: ["FIREWEED_CONFIG": file.path])
        #expect(result.code != 0 && result.errors.contains("\(file.path), line "), "\(result.errors)")
    }

    @Test("no failure is a dump of Foundation's")
    func dumps() throws {
        try "".write(to: folder.file("file"), atomically: true, encoding: .utf8)
        let cases = [
            try run("--session", "s", url("/get"), environment: ["XDG_CONFIG_HOME": folder.file("file").path]),
            try run("-f", url("/anything"), "f@/proc/self/mem"),
            try run("--session", "/proc/nothere/x", url("/get")),
            try run("--cert", "/dev/null", "https://127.0.0.1:1/"),
            try run("--har", "/proc/nothere/x", url("/get")),
            try run("fetch", "--save", folder.file("file").path + "/x", url("/get")),
            try run("PUT", "--upload", "/proc/self/mem", url("/anything")),
        ]
        for result in cases {
            #expect(result.code != 0)
            for word in ["Domain", "Code=", "UserInfo", "Foundation", "URLRequest", "CocoaError", "couldn’t"] {
                #expect(!result.errors.contains(word), "\(result.errors)")
            }
        }
    }

    @Test(
        "a copied command says what belongs to the shell",
        arguments: [
            ("curl %@ | jq .", "| and what follows it is for the shell"),
            ("curl %@ > x", "> and what follows it is for the shell"),
            ("sudo curl %@", "leave out what stands before curl"), ("A=1 curl %@", "leave out what stands before curl"),
            ("wget %@", "not curl"),
        ])
    func shell(_ command: String, _ words: String) throws {
        let result = try run("--from-curl", command.replacing("%@", with: url("/get")))
        #expect(result.code == 64 && result.errors.contains(words), "\(result.errors)")
    }

    @Test("help has topics, and says so")
    func help() throws {
        let unknown = try run("help", "nothere")
        #expect(unknown.code == 64 && unknown.errors.contains("topics are all, "), "\(unknown.errors)")
        #expect(text(try run("fetch", "help")) == text(try run("--help", "fetch")))
        #expect(text(try run("help")) == text(try run("--help")))
    }

    @Test("fetch takes a field in lower case with a number")
    func fields() throws {
        #expect(try run("fetch", url("/anything"), "depth:1").code == 0)
        #expect(server.requests.last?.field("Depth") == "1")
        #expect(server.requests.count == 1)
    }

    @Test("ws refuses input that is not UTF-8")
    func socketInput() throws {
        let target = url("/websocket").replacing("http://", with: "ws://")
        let result = try Command.run(
            script: "printf 'whole\\n\\377\\n' | \"$0\" ws --wait 0 \(target)", in: folder.url)
        #expect(result.code == 1 && result.errors.contains("is not UTF-8"), "\(result.errors)")
    }

    @Test("serve --uploads takes content with one length, serve --tls no old versions")
    func served() async throws {
        let uploads = try RunningCommand(["serve", "--uploads", "0", folder.url.path])
        let port = try #require(await uploads.read(until: "\n").split(separator: ":").last)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        let sent =
            "PUT /x HTTP/1.1\\r\\nHost: h\\r\\nContent-Length: 4\\r\\nContent-Length: 5\\r\\nConnection: close\\r\\n\\r\\ntext"
        let script = """
            import socket, sys
            s = socket.create_connection(("127.0.0.1", \(port)))
            s.sendall(b"\(sent)")
            print(s.recv(12).decode())
            """
        let answer = try Command.run(script: "/usr/bin/python3 -c '\(script)'", in: folder.url)
        #expect(!text(answer).contains("201") && !text(answer).contains("204"), "\(text(answer))\(answer.errors)")
        uploads.process.terminate()
        _ = await uploads.rest()

        let environment = ["XDG_CONFIG_HOME": folder.url.path]
        let secure = try RunningCommand(["serve", "--tls", "0"], in: folder.url, environment: environment)
        let greeting = await secure.read(until: "--cacert")
        let place = try #require(greeting.split(separator: "\n").first?.split(separator: ":").last)
        let old = try Command.run(
            script: "openssl s_client -connect 127.0.0.1:\(place) -tls1_1 -cipher DEFAULT@SECLEVEL=0 </dev/null 2>&1",
            in: folder.url)
        #expect(!text(old).contains("Protocol  : TLSv1.1") || text(old).contains("Cipher    : 0000"), "\(text(old))")
        let new = try Command.run(
            script: "openssl s_client -connect 127.0.0.1:\(place) -tls1_2 </dev/null 2>&1", in: folder.url)
        #expect(text(new).contains("TLSv1.2"), "\(text(new))")
        secure.process.terminate()
        _ = await secure.rest()
    }
}
