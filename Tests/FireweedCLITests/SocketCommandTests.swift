import FixtureServer
import Foundation
import Testing

@Suite("fireweed ws and fireweed status, as they are run", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SocketCommandTests {
    /// Runs the built command, with input from a pipe.
    private func run(_ arguments: [String], input: Data = Data()) throws -> (output: Data, errors: String, code: Int32)
    {
        let process = Process()
        process.executableURL = Bundle.main.bundleURL.appendingPathComponent("fireweed")
        process.arguments = arguments
        let (output, errors, standardInput) = (Pipe.closedOnExec(), Pipe.closedOnExec(), Pipe.closedOnExec())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = standardInput
        try process.start()
        Thread {
            try? standardInput.fileHandleForWriting.write(contentsOf: input)
            try? standardInput.fileHandleForWriting.close()
        }.start()
        let data = output.fileHandleForReading.contentToEnd()
        let text = String(decoding: errors.fileHandleForReading.contentToEnd(), as: UTF8.self)
        process.waitUntilExit()
        return (data, text, process.terminationStatus)
    }

    @Test("in a pipe each line is a message, and what comes back is printed line by line")
    func lines() throws {
        let url = try WebSocketServer.shared.url("/echo").absoluteString
        let result = try run(["ws", url], input: Data("one\ntwo\n\nκόσμε".utf8))
        #expect(String(decoding: result.output, as: UTF8.self) == "one\ntwo\n\nκόσμε\n")
        #expect(result.code == 0 && result.errors.isEmpty, "\(result.errors)")
    }

    @Test("--binary sends a pipe's bytes, and prints the answer's byte for byte")
    func binary() throws {
        let url = try WebSocketServer.shared.url("/echo").absoluteString
        let bytes = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 / 3) })
        let result = try run(["ws", url, "--binary", "--compress"], input: bytes)
        #expect(result.output == bytes && result.code == 0)
    }

    @Test("the exit code tells how it ended")
    func exitCodes() throws {
        let server = try WebSocketServer.shared
        let closed = try run(["ws", server.url("/close?code=1011&reason=broken").absoluteString])
        #expect(closed.code == 1 && closed.errors.contains("1011 (broken)"))
        #expect(try run(["ws", "ws://127.0.0.1:1/"]).code == 6)
        let refused = try run(["ws", server.url("/status?code=403").absoluteString])
        #expect(refused.code == 6 && refused.errors.contains("403"))
        #expect(try run(["status", "127.0.0.1"]).code == 0)
        let unreachable = try run(["status", "does-not-exist.invalid"])
        #expect(unreachable.code == 6 && String(decoding: unreachable.output, as: UTF8.self).hasPrefix("not reachable"))
    }

    /// Python's pty module types at the prompt and reads the screen.
    private static let typist = #"""
        import os, pty, select, sys, time
        pid, screen = pty.fork()
        if pid == 0:
            os.execv(sys.argv[1], sys.argv[1:])
        seen = b""
        def wait(text):
            global seen
            end = time.monotonic() + 30
            while text not in seen:
                if time.monotonic() > end or not select.select([screen], [], [], 30)[0]:
                    sys.exit("no %r in %r" % (text, seen))
                try:
                    seen += os.read(screen, 4096)
                except OSError:
                    sys.exit("the end, and no %r in %r" % (text, seen))
            seen = seen[seen.index(text) + len(text):]
        def type(text):
            os.write(screen, text)
        wait(b"connected")
        wait(b"> ")
        type(b"hexlo\x1b[D\x1b[D\x7fl\r")
        wait(b"< hello\r\n")
        type(b"\x1b[A, again\r")
        wait(b"< hello, again\r\n")
        type(b"/ping\r")
        wait(b"pong after ")
        type(b"/nonsense\r")
        wait(b"there is no command /nonsense")
        type(b"//slash\r")
        wait(b"< /slash\r\n")
        type(b"half a line\x15\x04")
        wait(b"closed with 1000")
        while True:
            try:
                if not os.read(screen, 4096):
                    break
            except OSError:
                break
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """#

    @Test("Ctrl-C at the prompt ends it with the code for that, and so does a signal in a pipe")
    func interrupted() async throws {
        let folder = try TemporaryFolder()
        let url = try WebSocketServer.shared.url("/echo").absoluteString
        let prompt = try RunningCommand(["ws", url], in: folder.url, onTerminal: true)
        _ = await prompt.read(until: "> ")
        try prompt.type("\u{3}")
        #expect(await prompt.rest().code == 130)
        let piped = try RunningCommand(["ws", url], in: folder.url)
        try piped.type("hello\n")
        _ = await piped.read(until: "hello")
        piped.process.interrupt()
        #expect(await piped.rest().code == 130)
    }

    @Test("at a terminal lines can be edited, recalled, and commands given; Ctrl-D says goodbye")
    func terminal() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        let program = Bundle.main.bundleURL.appendingPathComponent("fireweed").path
        let url = try WebSocketServer.shared.url("/echo").absoluteString
        process.arguments = ["-c", Self.typist, program, "ws", url]
        let errors = Pipe.closedOnExec()
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        try process.start()
        let text = String(decoding: errors.fileHandleForReading.contentToEnd(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(text)")
    }
}
