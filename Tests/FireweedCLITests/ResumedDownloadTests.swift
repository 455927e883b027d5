import FixtureServer
import Foundation
import Glibc
import Testing

@Suite("Resumed downloads of the command", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ResumedDownloadTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Starts a program in the temporary folder; its error output goes to a file there.
    private func start(_ program: URL, _ arguments: [String]) throws -> Process {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.currentDirectoryURL = folder.url
        _ = FileManager.default.createFile(atPath: folder.file("errors").path, contents: nil)
        process.standardError = try FileHandle(forWritingTo: folder.file("errors"))
        process.standardOutput = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.start()
        return process
    }

    private var command: URL { Bundle.main.bundleURL.appendingPathComponent("fireweed") }

    private var errors: String { (try? String(contentsOf: folder.file("errors"), encoding: .utf8)) ?? "" }

    private func size(_ name: String) -> Int {
        var status = stat()
        return stat(folder.file(name).path, &status) == 0 ? Int(status.st_size) : 0
    }

    private func digest(_ file: URL) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/sha256sum")
        process.arguments = [file.path]
        let output = Pipe.closedOnExec()
        process.standardOutput = output
        try process.start()
        let text = String(decoding: output.fileHandleForReading.contentToEnd(), as: UTF8.self)
        return String(text.prefix(64))
    }

    /// Unpredictable bytes, in a document of the server.
    private func makeDocument(_ server: NginxServer, byteCount: Int) throws -> URL {
        let file = server.documents.appendingPathComponent("big.bin")
        _ = FileManager.default.createFile(atPath: file.path, contents: nil)
        let source = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/dev/urandom"))
        let target = try FileHandle(forWritingTo: file)
        var left = byteCount
        while left > 0, let piece = try source.read(upToCount: min(left, 1 << 20)) {
            try target.write(contentsOf: piece)
            left -= piece.count
        }
        try target.close()
        return server.url.appendingPathComponent("big.bin")
    }

    /// Kills a process, or sends it another signal, once the partial file has grown to `byteCount`; false if it has
    /// ended before.
    private func kill(_ process: Process, whenPartialHas byteCount: Int, by signal: Int32 = SIGKILL) -> Bool {
        while process.isRunning, size("big.bin.part") < byteCount {
            var moment = pollfd()
            poll(&moment, 0, 1)  // the file of another process is all there is to watch
        }
        let wasRunning = process.isRunning
        Glibc.kill(process.processIdentifier, signal)
        process.waitUntilExit()
        return wasRunning
    }

    @Test("300 MB whose process is killed ten times come whole, and never from the start again")
    func killedTenTimes() throws {
        let total = 300_000_000
        // Each run gets a little more than a twelfth, so that it cannot end before it is killed, however late that is.
        let server = try NginxServer(pauseAfter: total / 12 + 1_000_000, logsAccess: true)
        let url = try makeDocument(server, byteCount: total).absoluteString
        var kept: [Int] = []
        for _ in 0..<10 {
            let process = try start(command, ["--download", "-c", url])
            // From none to a twelfth of the file further than the last one got.
            let aim = size("big.bin.part") + Int.random(in: 1...(total / 12))
            #expect(kill(process, whenPartialHas: aim), "the command ended before the kill: \(errors)")
            kept.append(size("big.bin.part"))
        }
        try server.endPauses()
        let last = try start(command, ["--download", "-c", url])
        last.waitUntilExit()
        #expect(last.terminationStatus == 0, "\(errors)")
        let expected = try digest(server.documents.appendingPathComponent("big.bin"))
        #expect(try digest(folder.file("big.bin")) == expected)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
        #expect(names == ["big.bin", "errors"])
        // Every run but the first has asked for exactly what was not there yet, and got it. nginx logs the end of an
        // exchange when it notices it, which for a killed client can be later than the next one's beginning.
        let log = try server.accessLog(count: 11)
        #expect(log.count == 11)
        #expect(Set(log.map(\.firstByte)) == Set([0] + kept))
        #expect(log.count { $0.status == 206 } == 10 && log.count { $0.status == 200 } == 1)
        // What a killed process had not read yet was in the socket's buffers, and came again.
        let sent = log.reduce(0) { $0 + $1.bodyByteCount }
        #expect(sent >= total && sent < total + 10 * 16_000_000, "sent \(sent)")
    }

    @Test("a file size limit is a clear error that keeps the content, and the next run continues")
    func sizeLimit() throws {
        let server = try NginxServer(logsAccess: true)
        let url = try makeDocument(server, byteCount: 3_000_000).absoluteString
        let script = "ulimit -f 2000; exec \"$0\" \"$@\""  // blocks of 512 bytes
        let limited = try start(
            URL(fileURLWithPath: "/bin/sh"), ["-c", script, command.path, "--download", "-c", url])
        limited.waitUntilExit()
        #expect(limited.terminationReason == .exit && limited.terminationStatus == 1)
        #expect(errors.contains("big.bin.part could not be written: the file would be larger than is allowed"))
        #expect(errors.contains("the same command continues from there"))
        let kept = size("big.bin.part")
        #expect(kept == 1_024_000)
        let again = try start(command, ["-c", url])
        again.waitUntilExit()
        #expect(again.terminationStatus == 0 && errors.contains("Went on behind"))
        #expect(try server.accessLog(count: 2).map(\.firstByte).sorted() == [0, kept])
        #expect(try digest(folder.file("big.bin")) == digest(server.documents.appendingPathComponent("big.bin")))
        // Once more: there is nothing to do, and that is a success.
        let done = try start(command, ["-c", url])
        done.waitUntilExit()
        #expect(done.terminationStatus == 0 && errors.contains("is there already, complete"))
    }

    @Test("a signal says that what has come is kept", arguments: [SIGINT, SIGTERM, SIGHUP])
    func signal(number: Int32) throws {
        let server = try NginxServer(pauseAfter: 1_000_000)
        let process = try start(command, ["-c", try makeDocument(server, byteCount: 4_000_000).absoluteString])
        #expect(kill(process, whenPartialHas: 500_000, by: number))
        #expect(process.exitCode == 128 + number)
        #expect(errors.contains("what has come is kept; the same command continues from there"), "\(errors)")
    }

    @Test("another version on the server starts the download again, and says so")
    func changed() throws {
        let server = try NginxServer(pauseAfter: 1_000_000)
        let url = try makeDocument(server, byteCount: 4_000_000).absoluteString
        let process = try start(command, ["-c", url])
        #expect(kill(process, whenPartialHas: 500_000))
        _ = try makeDocument(server, byteCount: 3_000_000)
        try server.endPauses()
        let again = try start(command, ["-c", url])
        again.waitUntilExit()
        #expect(again.terminationStatus == 0 && errors.contains("Started again: the server has another version now"))
        #expect(try digest(folder.file("big.bin")) == digest(server.documents.appendingPathComponent("big.bin")))
    }

    @Test("a file that no download has left is not touched")
    func foreignFile() throws {
        let server = try FixtureServer.start()
        try Data("mine".utf8).write(to: folder.file("4.part"))
        let refused = try start(command, ["-c", server.url("/range/4").absoluteString])
        refused.waitUntilExit()
        #expect(refused.terminationStatus == 1 && errors.contains("A file is in the way"))
        #expect(try Data(contentsOf: folder.file("4.part")) == Data("mine".utf8))
        try Data("other".utf8).write(to: folder.file("5"))
        let shorter = try start(command, ["-c", "-o", "5", server.url("/range/4").absoluteString])
        shorter.waitUntilExit()
        #expect(shorter.terminationStatus == 1 && errors.contains("5 is there already"))
        #expect(try Data(contentsOf: folder.file("5")) == Data("other".utf8))
    }

    @Test("an upload shows a bar on a terminal")
    func uploadBar() throws {
        let server = try FixtureServer.start()
        try Data(count: 8_000_000).write(to: folder.file("content.bin"))
        let line = "\(command.path) --upload content.bin \(server.url("/upload").absoluteString)"
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/script")
        process.arguments = ["-qec", line, "/dev/null"]
        process.currentDirectoryURL = folder.url
        process.standardInput = FileHandle.nullDevice
        let output = Pipe.closedOnExec()
        process.standardOutput = output
        try process.start()
        let text = String(decoding: output.fileHandleForReading.contentToEnd(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(text.contains("100%") && text.contains("7.6 MiB of 7.6 MiB"), "\(text)")
        #expect(server.requests.last?.method == "POST" && server.requests.last?.bodyByteCount == 8_000_000)
        #expect(server.requests.last?.field("Content-Type") == "application/octet-stream")
    }
}
