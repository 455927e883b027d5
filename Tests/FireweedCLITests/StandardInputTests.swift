import FixtureServer
import Foundation
import Testing

@Suite("Content from standard input", .timeLimit(.minutes(TestTimeouts.minutes)))
struct StandardInputTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    /// Runs a line of shell, in which `$fireweed` is the command and `$url` a URL that tells what came.
    private func shell(_ line: String, path: String = "/anything") throws -> (object: [String: Any]?, code: Int32) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", line]
        process.currentDirectoryURL = folder.url
        process.environment = ProcessInfo.processInfo.environment.merging([
            "fireweed": RunningCommand.program.path, "url": server.url(path).absoluteString,
        ]) { $1 }
        let output = Pipe.closedOnExec()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        try process.start()
        let data = output.fileHandleForReading.contentToEnd()
        process.waitUntilExit()
        return (try? JSONSerialization.jsonObject(with: data) as? [String: Any], process.terminationStatus)
    }

    @Test(
        "the limit on the whole holds while standard input is awaited, and what the wait takes is part of it",
        arguments: [
            "--max-time 0.5 PUT $url --upload -", "--max-time 0.5 PUT $url",
            "--from-curl \"curl -sS --max-time 0.5 -T - $url\"",
        ])
    func limit(arguments: String) throws {
        let producer = "mkfifo pipe; (echo a; exec sleep 600) >pipe & "
        let late = try shell("\(producer)$fireweed \(arguments) <pipe; code=$?; kill -9 $!; exit $code")
        #expect(late.code == 2 && server.requests.isEmpty)
    }

    @Test(
        "content that is not made of items has the type of -j, -f or its file",
        arguments: [
            ("echo a=b | $fireweed -f $url", "application/x-www-form-urlencoded; charset=utf-8"),
            ("echo a=b | $fireweed $url", "application/json"),
            ("$fireweed -f $url <form", "application/x-www-form-urlencoded; charset=utf-8"),
            ("$fireweed --raw a=b -f $url", "application/x-www-form-urlencoded; charset=utf-8"),
            ("$fireweed --raw a=b -j $url", "application/json"),
            ("$fireweed --raw a=b $url", "text/plain; charset=utf-8"),
            ("$fireweed --raw ' {\"a\": 1}' $url", "application/json"),
            ("$fireweed --raw '{a' $url", "text/plain; charset=utf-8"),
            ("$fireweed $url @page.html", "text/html"), ("$fireweed $url @link", "application/octet-stream"),
            ("$fireweed -j $url @page.html", "application/json"),
            ("$fireweed -f $url @form", "application/x-www-form-urlencoded; charset=utf-8"),
            ("$fireweed $url '@page.html;type=text/x'", "text/x"),
            ("$fireweed -j --upload form $url", "application/json"),
            ("$fireweed $url @/proc/self/comm", "application/octet-stream"),
            ("echo x | $fireweed -f $url @-", "application/x-www-form-urlencoded; charset=utf-8"),
            ("$fireweed $url @form Content-Type:text/y", "text/y"),
        ])
    func types(line: String, type: String) throws {
        try Data("a=b".utf8).write(to: folder.file("form"))
        try Data("<p>".utf8).write(to: folder.file("page.html"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link").path, withDestinationPath: folder.file("form").path)
        let result = try shell(line)
        let request = try #require(server.requests.last)
        #expect(result.code == 0 && request.method == "POST")
        #expect(request.field("Content-Type") == type && !request.body.isEmpty, "\(request.fields)")
    }

    @Test("a symbolic link and a file of /proc are sent whole, as a part of a form too")
    func unusualFiles() throws {
        try Data("linked".utf8).write(to: folder.file("target"))
        try FileManager.default.createSymbolicLink(atPath: folder.file("link").path, withDestinationPath: "target")
        #expect(try shell("$fireweed -f $url l@link p@/proc/self/comm t=@/proc/self/comm").code == 0)
        let body = String(decoding: try #require(server.requests.last).body, as: UTF8.self)
        #expect(body.contains("\r\n\r\nlinked\r\n") && body.components(separatedBy: "fireweed\n").count == 3, "\(body)")
        #expect(try shell("$fireweed $url </proc/self/comm").object?["data"] as? String == "fireweed\n")
    }

    @Test("two contents, and a file beside items, are wrong usage")
    func twoContents() throws {
        for words in ["@form @form", "@form a=b", "--raw x @form"] {
            #expect(try shell("touch form; $fireweed $url \(words) 2>/dev/null").code == 64, "\(words)")
        }
        #expect(server.requests.isEmpty)
    }

    @Test("a pipe is read to its end, however late its bytes come")
    func latePipe() throws {
        let result = try shell("(sleep 0.3; printf da; sleep 0.3; printf ta) | $fireweed $url")
        #expect(result.object?["method"] as? String == "POST" && result.object?["data"] as? String == "data")
        #expect(server.requests.last?.field("Content-Length") == "4")
    }

    @Test("an empty pipe, an empty file and /dev/null are no content")
    func empty() throws {
        for input in [": | $fireweed $url", ": >empty; $fireweed $url <empty", "$fireweed $url </dev/null"] {
            #expect(try shell(input).object?["method"] as? String == "GET", "\(input)")
        }
    }

    @Test("--ignore-stdin does not wait for a pipe that stays open", arguments: ["--ignore-stdin", "-I"])
    func ignored(option: String) async throws {
        let running = try RunningCommand([option, server.url("/anything").absoluteString], in: folder.url)
        let result = await running.rest()  // its input is open all the time
        #expect(result.code == 0 && result.output.contains("\"GET\""))
    }

    @Test("other content than standard input leaves a pipe alone")
    func otherContent() async throws {
        let running = try RunningCommand([server.url("/anything").absoluteString, "a=b"], in: folder.url)
        #expect(await running.rest().output.contains("\"POST\""))
    }

    @Test("a large pipe is sent as it is read, and comes whole")
    func largePipe() throws {
        let result = try shell("head -c 20000000 /dev/zero | $fireweed $url", path: "/upload")
        #expect(result.code == 0)
        let request = try #require(server.requests.last)
        #expect(request.method == "POST" && request.bodyByteCount == 20_000_000)
        #expect(request.field("Transfer-Encoding") == "chunked")
    }

    @Test("a file has its length, and a file that was read in part sends the rest")
    func file() throws {
        try Data(repeating: 0x61, count: 3_000_000).write(to: folder.file("file"))
        #expect(try shell("$fireweed $url <file", path: "/upload").code == 0)
        #expect(server.requests.last?.bodyByteCount == 3_000_000)
        #expect(server.requests.last?.field("Content-Length") == "3000000")
        let line = "{ dd bs=1000000 count=1 of=/dev/null status=none; $fireweed $url; } <file"
        #expect(try shell(line, path: "/upload").code == 0)
        #expect(server.requests.last?.bodyByteCount == 2_000_000)
    }

    @Test("a socket is read as a pipe is")
    func socket() throws {
        var pair: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        let ours = FileHandle(fileDescriptor: pair[0], closeOnDealloc: true)
        let theirs = FileHandle(fileDescriptor: pair[1], closeOnDealloc: true)
        let process = Process()
        process.executableURL = RunningCommand.program
        process.arguments = [server.url("/anything").absoluteString]
        let output = Pipe.closedOnExec()
        process.standardInput = theirs
        process.standardOutput = output
        try process.start()
        try theirs.close()
        try ours.write(contentsOf: Data("data".utf8))
        try ours.close()
        let text = String(decoding: output.fileHandleForReading.contentToEnd(), as: UTF8.self)
        process.waitUntilExit()
        #expect(text.contains("\"POST\"") && text.contains("\"data\""))
    }

    @Test("with --stream the first bytes are sent before the input's end")
    func streamed() async throws {
        let scripted = try ScriptedServer.start([
            .receiveHead, .receive(byteCount: "5\r\nfirst\r\n".utf8.count),
            .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"), .close,
        ])
        let running = try RunningCommand(["POST", "-S", scripted.url().absoluteString], in: folder.url)
        try running.type("first")
        #expect(await running.read(until: "ok") == "ok")
        try running.endInput()
        _ = await running.rest()
    }

    @Test("a field with a line break or a NUL is wrong usage, and nothing is sent")
    func lineBreaks() throws {
        for value in ["a\r\nEvil: b", "a\nb", "a\rb"] {
            for arguments in [["X-A:\(value)"], ["--auth-type", "bearer", "-a", value]] {
                let result = try Command.run([server.url("/get").absoluteString] + arguments, in: folder.url)
                #expect(result.code == 64 && result.errors.contains("line break"), "\(result.errors)")
            }
        }
        #expect(try Command.run([server.url("/get").absoluteString, "X A:b"], in: folder.url).code == 64)
        #expect(server.requests.isEmpty)
    }
}
