import Fireweed
import FixtureServer
import Foundation
import Testing

@testable import FireweedCLI

@Suite("fireweed serve with files", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ServeTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func address(_ text: String) throws -> String {
        try #require(text.firstMatch(of: /http:\/\/127\.0\.0\.1:[0-9]+/).map { String($0.output) })
    }

    /// Starts `fireweed serve`; and the URL that it says.
    private func start(_ arguments: String...) async throws -> (running: RunningCommand, url: String) {
        let running = try RunningCommand(["serve"] + arguments, in: folder.url)
        return (running, try address(await running.read(until: "\n")))
    }

    private func get(_ url: String, _ fields: String...) throws -> (status: String, content: String, head: String) {
        let result = try Command.run(["--print", "hb", url] + fields, in: folder.url)
        let text = String(decoding: result.output, as: UTF8.self)
        let halves = text.components(separatedBy: "\n\n")
        let content = halves.count > 1 ? halves[1] : ""
        return (String(text.dropFirst("HTTP/1.1 ".count).prefix(3)), content, halves[0])
    }

    /// What curl prints.
    private func curl(_ arguments: String...) throws -> String { try curl(arguments) }

    private func curl(_ arguments: [String]) throws -> String {
        let client = Process()
        client.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        client.arguments = ["-s"] + arguments
        let output = Pipe.closedOnExec()
        client.standardOutput = output
        try client.start()
        defer { client.waitUntilExit() }
        return String(decoding: output.fileHandleForReading.contentToEnd(), as: UTF8.self)
    }

    @Test(
        "a folder's files come in ranges",
        arguments: [
            ("bytes=2-4", "206", "234", "bytes 2-4/10"), ("bytes=7-", "206", "789", "bytes 7-9/10"),
            ("bytes=-3", "206", "789", "bytes 7-9/10"), ("bytes=8-99", "206", "89", "bytes 8-9/10"),
            ("bytes=10-", "416", "no such range\n", "bytes */10"), ("bytes=1-2,4-5", "200", "0123456789", nil),
            ("bytes=4-2", "200", "0123456789", nil), ("lines=1-2", "200", "0123456789", nil),
            ("Bytes= 8-99999999999999999999", "206", "89", "bytes 8-9/10"),
            ("bytes=99999999999999999999-", "416", "no such range\n", "bytes */10"),
            ("bytes=-99999999999999999999", "206", "0123456789", "bytes 0-9/10"),
            ("bytes=+1-2", "200", "0123456789", nil), ("bytes=-", "200", "0123456789", nil),
        ] as [(String, String, String, String?)])
    func ranges(range: String, status: String, content: String, place: String?) async throws {
        try Data("0123456789".utf8).write(to: folder.file("digits"))
        let (running, url) = try await start("0", ".")
        defer { running.process.terminate() }
        let answer = try get("\(url)/digits", "Range:\(range)")
        #expect(answer.status == status && answer.content == content, "\(answer)")
        #expect(try get("\(url)/digits/").status == "404", "a slash names a folder")
        #expect(answer.head.contains("Content-Range: ") == (place != nil))
        if let place { #expect(answer.head.contains("Content-Range: \(place)")) }
    }

    @Test("conditions are answered: 304 for what has not changed, 412 for what has, the whole for another version")
    func conditions() async throws {
        try Data("0123456789".utf8).write(to: folder.file("digits"))
        let (running, url) = try await start("0", ".")
        defer { running.process.terminate() }
        let file = "\(url)/digits"
        let head = try get(file).head
        let tag = try #require(head.firstMatch(of: /ETag: (.*)/).map { String($0.1) })
        let date = try #require(head.firstMatch(of: /Last-Modified: (.*)/).map { String($0.1) })
        for (fields, status) in [
            (["If-None-Match:\(tag)"], "304"), (["If-None-Match:W/\(tag)"], "304"), (["If-None-Match:\"x\""], "200"),
            (["If-Modified-Since:\(date)"], "304"), (["If-Modified-Since:Wed, 21 Oct 2015 07:28:00 GMT"], "200"),
            (["If-Match:\"x\""], "412"), (["If-Match:\(tag)"], "200"),
            (["If-Unmodified-Since:Wed, 21 Oct 2015 07:28:00 GMT"], "412"),
            (["Range:bytes=0-1", "If-Range:\(tag)"], "206"), (["Range:bytes=0-1", "If-Range:\"x\""], "200"),
        ] {
            let result = try Command.run(["--print", "h", file] + fields, in: folder.url)
            let line = String(decoding: result.output, as: UTF8.self).prefix { $0 != "\n" }
            #expect(line.hasPrefix("HTTP/1.1 \(status)"), "\(fields): \(line)")
            // RFC 9110 §8.6: a length in a 304 is that of the content.
            let shown = String(decoding: result.output, as: UTF8.self)
            #expect(status != "304" || !shown.contains("Content-Length: 0"), "\(shown)")
        }
    }

    @Test("--status answers every request, and --delay waits before it")
    func status() async throws {
        let (running, url) = try await start("--status", "503", "--delay", "0.2", "0")
        defer { running.process.terminate() }
        let start = ContinuousClock.now
        #expect(try get("\(url)/any").status == "503")
        #expect(ContinuousClock.now - start >= .milliseconds(200))
        // Content is neither kept nor judged: this is more than the endpoints take.
        let large = folder.file("large")
        try Data().write(to: large)
        #expect(truncate(large.path, 65 << 20) == 0)
        #expect(try curl("-T", large.path, "-o", "/dev/null", "-w", "%{http_code}", "\(url)/any") == "503")
        for wrong in [["--status", "99"], ["--delay", "1"], ["--status", "404", "0", "."]] {
            #expect(try Command.run(["serve"] + wrong, in: folder.url).code == 64, "\(wrong)")
        }
    }

    @Test("--uploads takes new files under the folder, and nothing beside them")
    func uploads() async throws {
        let manager = FileManager.default
        for name in ["in", "in/sub", "out"] {
            try manager.createDirectory(at: folder.file(name), withIntermediateDirectories: false)
        }
        try Data("old".utf8).write(to: folder.file("in/old"))
        try manager.createSymbolicLink(atPath: folder.file("in/away").path, withDestinationPath: "../out")
        try manager.createSymbolicLink(atPath: folder.file("in/ghost").path, withDestinationPath: "../out/ghost")
        let (running, url) = try await start("--uploads", "--max-body", "10K", "0", "in")
        defer { running.process.terminate() }
        func put(_ path: String, _ others: String...) throws -> (status: String, content: String) {
            let result = try Command.run(["--print", "hb", "PUT", url + path] + others, in: folder.url)
            let text = String(decoding: result.output, as: UTF8.self)
            return (String(text.dropFirst("HTTP/1.1 ".count).prefix(3)), text)
        }
        let made = try put("/sub/a%20b", "--raw", "text")
        #expect(made.status == "201" && made.content.contains("Location: /sub/a%20b\n"), "\(made)")
        #expect(try String(contentsOf: folder.file("in/sub/a b"), encoding: .utf8) == "text")
        #expect(try put("/empty").status == "201")
        for (path, status) in [
            ("/old", "409"), ("/ghost", "409"), ("/sub", "409"), ("/away/a", "404"), ("/none/a", "404"),
            ("/old/a", "404"), ("/%2e%2e/a", "403"), ("/..%2fa", "403"), ("/.profile", "403"), ("/", "400"),
            ("/sub/", "400"), ("/a%00b", "400"), ("/a%ff", "400"),
        ] {
            #expect(try put(path, "--raw", "new").status == status, "\(path)")
        }
        #expect(try put("/part", "--raw", "x", "Content-Range:bytes 0-0/2").status == "400")
        #expect(try put("/new", "--raw", "x", "If-Match:*").status == "412")
        try Data(count: 20_000).write(to: folder.file("large"))
        #expect(try put("/long", "@large").status == "413")
        #expect(try put("/long", "--chunked", "@large").status == "413")
        #expect(try Command.run(["--check-status", "DELETE", "\(url)/old"], in: folder.url).code == 4)
        #expect(try get("\(url)/").content == "empty\nold\nsub/\n", "links out of the folder are not listed")
        #expect(try String(contentsOf: folder.file("in/old"), encoding: .utf8) == "old")
        #expect(try manager.contentsOfDirectory(atPath: folder.file("out").path).isEmpty)
        let left = try manager.contentsOfDirectory(atPath: folder.file("in").path)
        #expect(left.sorted() == ["away", "empty", "ghost", "old", "sub"])
    }

    @Test("what is uploaded is not there before it is whole, and a broken upload leaves nothing")
    func brokenUpload() async throws {
        let server = try FixtureServer.start()
        let files = try ServedFolder(path: folder.url.path, uploadLimit: 100)
        let arrivals = EventLog<String>()
        server.receive { request in
            defer { arrivals.note(request.path) }
            return files.reception(of: request)
        }
        server.answer { files.response(to: $0) }
        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.url.path) }
        let url = server.url.absoluteString
        let upload = try RunningCommand(["PUT", "--stream", "\(url)/slow", "--upload", "-"], in: folder.url)
        try upload.type("begun")
        try await arrivals.first { $0 == "/slow" }
        // Only a file system without unnamed files shows the incomplete file.
        for partial in try names() {
            #expect(partial.hasPrefix(UploadFolder.partialPrefix))
            #expect(try get("\(url)/\(partial)").status == "404")
        }
        #expect(try get("\(url)/").content.isEmpty && get("\(url)/slow").status == "404")
        upload.process.terminate()
        try await server.events.first { $0 == .completed("/slow", isWhole: false) }
        #expect(try names().isEmpty)
        _ = await upload.rest()
    }

    @Test("a URL in the query of a target is not the target")
    func queryWithURL() async throws {
        try Data("right".utf8).write(to: folder.file("a"))
        try Data("wrong".utf8).write(to: folder.file("b"))
        let (running, url) = try await start("--uploads", "0", ".")
        defer { running.process.terminate() }
        #expect(try get("\(url)/a?from=http://h.example/b").content == "right")
        #expect(try curl("-T", folder.file("a").path, "\(url)/c?x=http://h.example/d").isEmpty)
        #expect(FileManager.default.fileExists(atPath: folder.file("c").path))
        let (endpoints, other) = try await start("0")
        defer { endpoints.process.terminate() }
        let redirect = try get("\(other)/redirect-to?url=http://h.example/x", "--no-follow")
        #expect(redirect.status == "302" && redirect.head.contains("Location: http://h.example/x\n"), "\(redirect)")
        #expect(try curl("\(other)/anything/http://a/b").contains("/anything/http://a/b"))
    }

    @Test(
        "an upload of HTTP/1.0 needs a length, and a signal in the middle of it leaves nothing",
        arguments: [SIGINT, SIGTERM])
    func stoppedUpload(signal: Int32) async throws {
        let (running, url) = try await start("--uploads", "0", ".")
        let upload = try RunningCommand(["PUT", "--stream", "\(url)/slow", "--upload", "-"], in: folder.url)
        try upload.type("begun")
        #expect(try curl("-0", "-X", "PUT", "\(url)/none").contains("Content-Length is missing"))
        let coded = try curl("-X", "PUT", "-d", "x", "-H", "Content-Encoding: gzip", "\(url)/gz")
        #expect(coded.contains("without a coding"))
        kill(running.process.processIdentifier, signal)
        #expect(await running.rest().code == 128 + signal)
        _ = await upload.rest()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    }

    @Test("a folder that may not be read is not an empty one, and an empty name is no folder")
    func unreadable() async throws {
        let closed = folder.file("closed")
        try FileManager.default.createDirectory(at: closed, withIntermediateDirectories: false)
        let (running, url) = try await start("0", ".")
        defer { running.process.terminate() }
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: closed.path)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: closed.path) }
        if access(closed.path, R_OK) != 0 { #expect(try get("\(url)/closed/").status == "403") }
        for arguments in [["0", ""], [""]] {
            let empty = try Command.run(["serve"] + arguments, in: folder.url)
            #expect(empty.code == 64 && empty.errors.contains("the name of the folder is empty"), "\(empty.errors)")
        }
    }

    @Test("the key of serve's certificate may be encrypted, and has to be the certificate's")
    func encryptedKey() async throws {
        func openssl(_ arguments: String) throws {
            let program = Process()
            program.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
            program.arguments = arguments.split(separator: " ").map(String.init)
            program.currentDirectoryURL = folder.url
            program.standardError = FileHandle.nullDevice
            try program.start()
            program.waitUntilExit()
            try #require(program.terminationStatus == 0)
        }
        try openssl("genrsa -aes128 -passout pass:secret -out key 2048")
        try openssl("req -x509 -key key -passin pass:secret -out cert -days 2 -subj /CN=127.0.0.1")
        try openssl("ecparam -genkey -name prime256v1 -out other")
        for (options, reason) in [
            (["--cert", "cert", "--key", "key"], "its passphrase is not given"),
            (["--cert", "cert:wrong", "--key", "key"], "cannot speak TLS"),
            (["--cert", "cert", "--key", "other"], "cannot speak TLS"),
        ] {
            let refused = try Command.run(["serve"] + options, in: folder.url)
            #expect(refused.code == 1 && refused.errors.contains(reason), "\(options): \(refused.errors)")
        }
        for options in [["--cert", "cert:secret"], ["--cert", "cert", "--cert-key-pass", "secret"]] {
            let running = try RunningCommand(
                ["serve", "--key", "key"] + options, in: folder.url, hasInput: false)
            let said = await running.read(until: "\n")
            let url = try #require(said.firstMatch(of: /https:\/\/127\.0\.0\.1:[0-9]+/).map { String($0.output) })
            #expect(try Command.run(["-k", "\(url)/get"], in: folder.url).code == 0)
            running.process.terminate()
            _ = await running.rest()
        }
    }

    @Test("serve without --uploads takes no content, and refuses options that need it")
    func noUploads() async throws {
        let (running, url) = try await start("0", ".")
        defer { running.process.terminate() }
        let refused = try Command.run(["--print", "h", "PUT", "\(url)/a", "--raw", "b"], in: folder.url)
        let head = String(decoding: refused.output, as: UTF8.self)
        #expect(head.hasPrefix("HTTP/1.1 405") && head.contains("Allow: GET, HEAD\n"), "\(head)")
        #expect(!FileManager.default.fileExists(atPath: folder.file("a").path))
        for wrong in [["--uploads"], ["--max-body", "1M", "."], ["--uploads", "--status", "404", "."]] {
            #expect(try Command.run(["serve"] + wrong, in: folder.url).code == 64, "\(wrong)")
        }
    }

    @Test("--host is the address that serve listens at, with a certificate for it, and loopback otherwise")
    func host() async throws {
        let environment = ["XDG_CONFIG_HOME": folder.file("config").path]
        let wrong = try Command.run(["serve", "--host", "192.0.2.1"], in: folder.url)
        #expect(wrong.code == 1 && wrong.errors.contains("cannot listen on 192.0.2.1:0"), "\(wrong.errors)")
        let nowhere = try Command.run(["serve", "--host", "no.such.invalid"], in: folder.url)
        #expect(nowhere.code == 64 && nowhere.errors.contains("no.such.invalid"), "\(nowhere.errors)")
        for host in ["127.0.0.2", "0.0.0.0"] {
            let running = try RunningCommand(
                ["serve", "--tls", "--host", host], in: folder.url, hasInput: false, environment: environment)
            defer { running.process.terminate() }
            let said = await running.read(until: ".pem\n")
            let words = said.split(whereSeparator: \.isWhitespace).map(String.init)
            let url = try #require(words.first { $0.hasPrefix("https://\(host):") })
            let reached = host == "0.0.0.0" ? url.replacing("0.0.0.0", with: "127.0.0.1") : url
            let answer = try Command.run(
                ["--check-status", "--cacert", try #require(words.last), "\(reached)/get"], in: folder.url)
            #expect(answer.code == 0, "\(host): \(answer.errors)")
            #expect(String(decoding: answer.output, as: UTF8.self).contains("\"url\" : \"\(reached)/get\""))
        }
    }

    @Test("the authority of serve --tls is the same in every run, its key is the user's alone, and nobody trusts it")
    func authority() async throws {
        let environment = ["XDG_CONFIG_HOME": folder.file("config").path]
        var authorities: [Data] = []
        for _ in 0..<2 {
            let running = try RunningCommand(
                ["serve", "--tls"], in: folder.url, hasInput: false, environment: environment)
            let said = await running.read(until: ".pem\n")
            let words = said.split(whereSeparator: \.isWhitespace).map(String.init)
            let (url, file) = (try #require(words.first { $0.hasPrefix("https://") }), try #require(words.last))
            authorities.append(try Data(contentsOf: URL(fileURLWithPath: file)))
            #expect(try Command.run(["--cacert", file, "\(url)/get"], in: folder.url).code == 0)
            #expect(try Command.run(["\(url)/get"], in: folder.url).code == 7)
            running.process.terminate()
            _ = await running.rest()
        }
        #expect(authorities[0] == authorities[1])
        let place = folder.file("config/fireweed/authority")
        for (name, mode) in [("", 0o700), ("authority.key", 0o600)] {
            let path = place.appendingPathComponent(name).path
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == mode)
        }
        // Files that are not what they were are made anew.
        try Data("damaged".utf8).write(to: place.appendingPathComponent("authority.key"))
        let running = try RunningCommand(["serve", "--tls"], in: folder.url, hasInput: false, environment: environment)
        #expect(await running.read(until: ".pem\n").contains("Serving on https://"))
        running.process.terminate()
    }

    @Test("without a free descriptor every answer is 503: nothing seems unreadable, empty or missing")
    func descriptors() async throws {
        try Data("0123456789".utf8).write(to: folder.file("digits"))
        let (running, url) = try await start("0", ".", "--uploads")
        defer { running.process.terminate() }
        // Each answer ends its connection, so each question has its own, which is open before.
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.urlCache = nil  // a file that is some seconds old is fresh for a moment
        let sessions = (0..<2).map { _ in Session(configuration: configuration) }
        for session in sessions {
            #expect(try await session.request("\(url)/digits").serializingString().value == "0123456789")
        }
        let limit = Process()
        limit.executableURL = URL(fileURLWithPath: "/usr/bin/prlimit")
        limit.arguments = ["--pid", "\(running.process.processIdentifier)", "--nofile=3"]
        try limit.start()
        limit.waitUntilExit()
        for (session, path) in zip(sessions, ["/digits", "/"]) {
            let response = await session.request(url + path).serializingString().response
            #expect(response.response?.statusCode == 503, "\(path): \(response)")
        }
    }

    @Test("a folder's index.html is served as the file that it is, and a link out of the folder is not")
    func index() async throws {
        for name in ["site", "site/linked"] {
            try FileManager.default.createDirectory(at: folder.file(name), withIntermediateDirectories: false)
        }
        try Data("0123456789".utf8).write(to: folder.file("site/index.html"))
        try Data("secret".utf8).write(to: folder.file("private"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("site/linked/index.html").path, withDestinationPath: "../../private")
        let (running, url) = try await start("0", "site")
        defer { running.process.terminate() }
        let part = try get("\(url)/", "Range:bytes=2-4")
        #expect(part.status == "206" && part.content == "234" && part.head.contains("Content-Type: text/html"))
        let tag = try #require(part.head.firstMatch(of: /ETag: (.*)/).map { String($0.1) })
        #expect(try get("\(url)/", "If-None-Match:\(tag)").status == "304")
        #expect(try get("\(url)/linked/").content.isEmpty)
        #expect(try get("\(url)/linked/index.html").status == "404")
    }

    @Test("the redirect to a folder stays on the server, and keeps the query")
    func folderRedirect() async throws {
        try FileManager.default.createDirectory(at: folder.file("sub"), withIntermediateDirectories: false)
        let (running, url) = try await start("0", ".")
        defer { running.process.terminate() }
        for (target, location) in [
            ("/sub", "/sub/"), ("/sub?x=1&y", "/sub/?x=1&y"), ("//sub", "/sub/"),
            ("//h.example%2f..", "/h.example/../"),
        ] {
            let head = try get(url + target, "--no-follow").head
            #expect(head.hasPrefix("HTTP/1.1 301") && head.contains("Location: \(location)\n"), "\(target): \(head)")
        }
    }

    @Test(
        "serve makes no tunnels, whether it has endpoints, files or a recording",
        arguments: [[], ["."], ["--har", "a"]])
    func tunnels(arguments: [String]) async throws {
        try Data(#"{"log": {"entries": []}}"#.utf8).write(to: folder.file("a"))
        let server = try FixtureServer.start()
        let running = try RunningCommand(["serve"] + arguments, in: folder.url, hasInput: false)
        defer { running.process.terminate() }
        let proxy = try address(await running.read(until: "\n"))
        let result = try Command.run(
            ["--proxytunnel", "--proxy", proxy, server.url("/get").absoluteString], in: folder.url)
        #expect(result.code == 6 && result.errors.contains("405"), "\(result.code) \(result.errors)")
        #expect(server.connectionCount == 0)
        #expect(await running.read(until: "→ 405").contains("CONNECT"))
    }

    @Test("a connection of HTTP/1.0 ends with its answer, which has no chunks")
    func oldClient() async throws {
        let (running, url) = try await start("0")
        defer { running.process.terminate() }
        let answer = try curl("-i", "-0", "\(url)/stream/2")
        #expect(answer.contains("Connection: close\r\n") && !answer.contains("Transfer-Encoding"), "\(answer)")
        #expect(answer.hasSuffix("{\"id\": 1, \"url\": \"/stream/2\"}\n"), "\(answer)")
    }

    @Test("Digest lets the right user in, once with each answer, and the log has the status")
    func digest() async throws {
        let (running, url) = try await start("0")
        defer { running.process.terminate() }
        for algorithm in ["", "/SHA-256"] {
            let place = "\(url)/digest-auth/auth/u/p\(algorithm)"
            let known = ["--check-status", "-A", "digest", place]
            #expect(try Command.run(known + ["-a", "u:p"], in: folder.url).code == 0)
            #expect(try Command.run(known + ["-a", "u:x"], in: folder.url).code == 4)
            let shown = try Command.run(known + ["-a", "u:p", "-v", "--all"], in: folder.url)
            let text = String(decoding: shown.output, as: UTF8.self)
            let answer = try #require(text.firstMatch(of: /Authorization: (Digest .*)/).map { String($0.1) })
            let again = try get(place, "Authorization:\(answer)")
            #expect(again.status == "401" && again.head.contains("stale=true"), "\(again)")
        }
        #expect(await running.read(until: "→ 200").contains("GET /digest-auth/auth/u/p → 401\n"))
    }

    @Test("what is refused, or breaks off, is logged, and a client of TLS is answered at once")
    func refusals() async throws {
        let (running, url) = try await start("0", ".")
        defer { running.process.terminate() }
        let secure = url.replacing("http:", with: "https:")
        let refused = try Command.run(["\(secure)/", "--timeout", "\(TestTimeouts.seconds)"], in: folder.url)
        #expect(refused.code == 7 && refused.errors.contains("does not speak TLS"), "\(refused.code) \(refused.errors)")
        #expect(await running.read(until: "→ 400").contains("TLS needs --tls"))
        for (path, fields, reason) in [
            ("/a", ["-H", "Host:"], "there has to be one Host field"),
            ("/b", ["-H", "Content-Length: 1", "-H", "Content-Length: 2"], "is not one number"),
        ] {
            let answer = try curl(["-i"] + fields + [url + path])
            #expect(answer.hasPrefix("HTTP/1.1 400") && answer.contains(reason), "\(answer)")
            #expect(await running.read(until: "GET \(path) → 400\n").hasSuffix("→ 400\n"))
        }
    }

    @Test("serve --tls tells a client without TLS what is wrong")
    func clearText() async throws {
        let running = try RunningCommand(["serve", "--tls"], in: folder.url, hasInput: false)
        defer { running.process.terminate() }
        let said = await running.read(until: ".pem\n")
        let url = try #require(said.firstMatch(of: /https(:\/\/127\.0\.0\.1:[0-9]+)/).map { "http\($0.1)" })
        let answer = try get("\(url)/get")
        #expect(answer.status == "400" && answer.content == "TLS is spoken here: https:// is meant\n", "\(answer)")
        #expect(await running.read(until: "→ 400").contains("GET /get → 400"))
    }

    @Test("a folder is listed in lines, and for browsers as links; HEAD has the head alone")
    func listing() async throws {
        try FileManager.default.createDirectory(at: folder.file("a&\"b"), withIntermediateDirectories: false)
        try Data("x".utf8).write(to: folder.file("c:d <e>"))
        let (running, url) = try await start("0", ".")
        defer { running.process.terminate() }
        #expect(try get("\(url)/").content == "a&\"b/\nc:d <e>\n")
        let page = try get("\(url)/", "Accept:text/html").content
        #expect(page.contains("<a href=\"./a&amp;%22b/\">a&amp;&quot;b/</a>"), "\(page)")
        #expect(page.contains("<a href=\"./c%3Ad%20%3Ce%3E\">c:d &lt;e></a>"), "\(page)")
        #expect(try get("\(url)/a&%22b", "Accept:text/html").content.contains("href=\"./../\""))
        let head = try Command.run(["HEAD", "--print", "hb", "\(url)/c:d%20%3Ce%3E"], in: folder.url)
        let text = String(decoding: head.output, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 200") && text.contains("Content-Length: 1\n") && text.hasSuffix("\n\n"))
    }
}
