import FixtureServer
import Foundation
import Glibc
import Testing

@Suite("The file that --output names", .timeLimit(.minutes(TestTimeouts.minutes)))
struct OutputFileTests {
    let server: FixtureServer
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    private func run(_ arguments: String...) throws -> CommandResult {
        try Command.run(arguments, in: folder.url)
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
    }

    private func kind(_ name: String) -> mode_t {
        var status = stat()
        #expect(lstat(folder.file(name).path, &status) == 0)
        return status.st_mode & S_IFMT
    }

    @Test(
        "a folder, a read-only file and a file without its folder are refused before anything is sent",
        arguments: [
            (".", "a folder is there"), ("folder", "a folder is there"), ("folder/", "that names a folder"),
            ("", "the name of the file is empty"),
            ("link", "a folder is there"), ("read-only", "the file is read-only"),
            ("none/file", "its folder does not exist"), ("socket", "a socket is there"),
        ])
    func refused(name: String, reason: String) throws {
        try FileManager.default.createDirectory(at: folder.file("folder"), withIntermediateDirectories: false)
        try Data("mine".utf8).write(to: folder.file("folder/file"))
        try Data("mine".utf8).write(to: folder.file("read-only"))
        #expect(chmod(folder.file("read-only").path, 0o444) == 0)
        #expect(mknod(folder.file("socket").path, S_IFSOCK | 0o600, 0) == 0)
        try FileManager.default.createSymbolicLink(atPath: folder.file("link").path, withDestinationPath: "folder")
        let before = try names()
        let result = try run("-o", name, server.url("/bytes/10").absoluteString)
        #expect(result.code == 1 && result.errors.contains(reason), "\(result.errors)")
        #expect(server.requests.isEmpty)
        #expect(try names() == before)
        #expect(try Data(contentsOf: folder.file("folder/file")) == Data("mine".utf8))
        #expect(try Data(contentsOf: folder.file("read-only")) == Data("mine".utf8))
    }

    @Test("a file that is uploaded while the response is saved keeps its length, and is sent again after a redirect")
    func uploadedFile() throws {
        try Data(count: 300_000).write(to: folder.file("content"))
        let target = server.url("/upload").absoluteString
        let redirect = server.url("/redirect-to?url=\(target)&status_code=307").absoluteString
        for url in [target, redirect] {
            let result = try run("-o", "out", "--follow", "--upload", "content", url)
            #expect(result.code == 0, "\(result.errors)")
            #expect(server.requests.last?.field("Content-Length") == "300000")
        }
        #expect(try String(contentsOf: folder.file("out"), encoding: .utf8).contains("300000"))
    }

    @Test("a device is written to and stays, and the bytes are counted", .enabled(if: geteuid() == 0))
    func device() throws {
        #expect(mknod(folder.file("null").path, S_IFCHR | 0o600, 0x103) == 0)
        let result = try run("-o", "null", server.url("/bytes/10").absoluteString)
        #expect(result.code == 0 && result.errors.contains("Saved 10 B to null"), "\(result.errors)")
        #expect(kind("null") == S_IFCHR)
        #expect(try names() == ["null"])
    }

    @Test("a link stays, and its file keeps its mode")
    func link() throws {
        try Data("old".utf8).write(to: folder.file("file"))
        #expect(chmod(folder.file("file").path, 0o640) == 0)
        try FileManager.default.createSymbolicLink(atPath: folder.file("link").path, withDestinationPath: "file")
        #expect(try run("-o", "link", server.url("/bytes/10").absoluteString).code == 0)
        #expect(kind("link") == S_IFLNK)
        #expect(try Data(contentsOf: folder.file("file")).count == 10)
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file("file").path)[.posixPermissions]
        #expect((mode as? NSNumber)?.intValue == 0o640)
        #expect(try names() == ["file", "link"])
    }

    @Test("\"-\" and the names of standard output stand for standard output", arguments: ["-", "/dev/stdout"])
    func standardOutput(name: String) throws {
        let result = try run("-o", name, server.url("/json").absoluteString)
        #expect(result.code == 0 && result.errors.isEmpty)
        #expect(try result.output == Data(contentsOf: server.url("/json")))
        #expect(try names().isEmpty)
        #expect(try run("-c", "-o", name, server.url("/json").absoluteString).code == 64)
    }

    @Test("the content of a refused status replaces nothing, unless --any-status asks for it", arguments: [404, 503])
    func refusedStatus(status: Int) throws {
        server.route("/refused") { _ in FixtureResponse.text("refused", status: status) }
        try Data("good".utf8).write(to: folder.file("file"))
        let url = server.url("/refused").absoluteString
        for options in [[], ["--retry", "1"]] {
            let result = try Command.run(options + ["-o", "file", url], in: folder.url)
            #expect(result.code == 1 && result.errors.contains("nothing was saved: the status is \(status)"))
            #expect(result.errors.contains("--any-status"))
            #expect(try Data(contentsOf: folder.file("file")) == Data("good".utf8))
        }
        #expect(try run("--check-status", "-o", "file", url).code == status / 100)
        #expect(try run("--download", url).code == 1)
        #expect(try names() == ["file"])
        let saved = try run("--any-status", "-o", "file", url)
        #expect(saved.code == 0)
        #expect(try Data(contentsOf: folder.file("file")) == Data("refused".utf8))
        #expect(try run("--any-status", "--check-status", "-o", "file", url).code == status / 100)
        #expect(try names() == ["file"])
    }

    @Test("a connection that ends inside the head is a failure", arguments: [[], ["-o", "file"], ["--retry", "1"]])
    func cutHead(options: [String]) throws {
        let server = try ScriptedServer.start([.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Len"), .close])
        let result = try Command.run(options + [server.url().absoluteString], in: folder.url)
        #expect(result.code == 6 && result.errors.hasPrefix("fireweed: ") && result.output.isEmpty)
        #expect(try names().isEmpty)
    }

    // MARK: Signals

    private static let half =
        "HTTP/1.1 200 OK\r\nContent-Length: 600000\r\n\r\n" + String(repeating: "x", count: 300_000)

    /// Starts a download and waits until its content lies in the folder.
    private func begin(_ options: [String], from server: ScriptedServer) async throws -> RunningCommand {
        let running = try RunningCommand(
            options + ["GET", "-I", server.url().absoluteString], in: folder.file("work"),
            environment: ["TMPDIR": folder.file("temporary").path])
        while try hidden().isEmpty, running.process.isRunning {
            var moment = pollfd()
            poll(&moment, 0, 1)  // the file of another process is all there is to watch
        }
        return running
    }

    private func hidden() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.file("work").path).filter { $0.hasPrefix(".") }
    }

    private func makeFolders() throws {
        for name in ["work", "temporary"] {
            try FileManager.default.createDirectory(at: folder.file(name), withIntermediateDirectories: true)
        }
    }

    @Test(
        "nothing is left after a signal, and the file that was there stays",
        arguments: [SIGINT, SIGTERM, SIGHUP], [["-o", "file"], ["-d"]])
    func signals(number: Int32, options: [String]) async throws {
        try makeFolders()
        try Data("good".utf8).write(to: folder.file("work/file"))
        let server = try ScriptedServer.start([.receiveHead, .send(Self.half), .hold])
        let running = try await begin(options, from: server)
        kill(running.process.processIdentifier, number)
        #expect(await running.rest().code == 128 + number)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("work").path) == ["file"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("temporary").path).isEmpty)
        #expect(try Data(contentsOf: folder.file("work/file")) == Data("good".utf8))
    }

    @Test("what a killed run has left goes with the next one")
    func killed() async throws {
        try makeFolders()
        let scripted = try ScriptedServer.start([.receiveHead, .send(Self.half), .hold])
        let running = try await begin(["-o", "file"], from: scripted)
        kill(running.process.processIdentifier, SIGKILL)
        _ = await running.rest()
        #expect(try hidden().count == 1)
        let again = try Command.run(["-o", "file", server.url("/bytes/10").absoluteString], in: folder.file("work"))
        #expect(again.code == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("work").path) == ["file"])
    }

    // MARK: Files of the command's own

    @Test("archives and sessions are for this user alone, whatever was there", arguments: ["--har", "--session"])
    func privateFiles(option: String) throws {
        for isThere in [false, true] {
            let name = "./file-\(isThere)"
            if isThere {
                try Data("{\"version\":1,\"cookies\":[],\"credentials\":[]}".utf8).write(to: folder.file(name))
                #expect(chmod(folder.file(name).path, 0o644) == 0)
            }
            #expect(try run(option, name, server.url("/get").absoluteString).code == 0)
            let mode = try FileManager.default.attributesOfItem(atPath: folder.file(name).path)[.posixPermissions]
            #expect((mode as? NSNumber)?.intValue == 0o600)
        }
        #expect(try names() == ["file-false", "file-true"])
    }

    @Test("an archive for a device is written to it, one for a folder is an error", .enabled(if: geteuid() == 0))
    func archiveDevice() throws {
        #expect(mknod(folder.file("null").path, S_IFCHR | 0o600, 0x103) == 0)
        #expect(try run("--har", "null", server.url("/get").absoluteString).code == 0)
        #expect(kind("null") == S_IFCHR)
        let folderError = try run("--har", ".", server.url("/get").absoluteString)
        #expect(folderError.code == 1 && folderError.errors.contains("a folder is there"))
        #expect(try names() == ["null"])
    }
}
