import FixtureServer
import Foundation
import Testing

/// A process that does nothing else, so that its memory is that of the WebSocket.
@Suite(
    "Memory of fireweed ws with a paused reader", .timeLimit(.minutes(TestTimeouts.minutes)), .serialized)
struct SocketMemoryTests {
    private static let mebibyte = 1 << 20
    /// Far less than the GiB that could come, and more than the program with all its libraries takes.
    private static let limit = 160 * mebibyte

    /// The command with its output in a pipe.
    private struct Run {
        let process = Process()
        let output = Pipe.closedOnExec()
        /// Held open: its end would make the command say goodbye.
        private let input = Pipe.closedOnExec()

        init(_ arguments: [String]) throws {
            process.executableURL = Bundle.main.bundleURL.appendingPathComponent("fireweed")
            process.arguments = ["ws"] + arguments
            process.standardInput = input
            process.standardOutput = output
            try process.start()
        }

        /// Reads on until so many bytes have been read, or all.
        func read(_ read: inout Int, upTo goal: Int) {
            while read < goal, case let count = output.fileHandleForReading.nextContent().count, count > 0 {
                read += count
            }
        }

        /// Resident memory now, or the most there has been.
        func memory(_ name: String) throws -> Int {
            let text = try String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("\(name):") })
            return (Int(line.filter(\.isNumber)) ?? 0) * 1024
        }
    }

    @Test("the server stops, memory stays flat, and everything comes when the reader continues")
    func plain() async throws {
        let stalls = EventLog<Int>()
        let frame = WebSocketPeer.Frame(2, [UInt8](repeating: 7, count: 1 << 16))
        let peer = try WebSocketPeer { connection in
            try connection.sendRepeatedly(frame, count: 1 << 14) { stalls.note($0) }
            try connection.send(.init(8, [0x03, 0xE8]))
            connection.waitForEnd()
        }
        let run = try Run([peer.url.absoluteString])
        var read = 0
        for goal in [0, 8, 32] {
            run.read(&read, upTo: goal * Self.mebibyte)
            let least = read
            let sent = try await stalls.first { $0 > least }
            #expect(sent < read + LoopbackSlack.byteCount)
            #expect(try run.memory("VmRSS") < Self.limit)
        }
        run.read(&read, upTo: (1 << 30) - Self.mebibyte)
        #expect(try run.memory("VmHWM") < Self.limit)
        run.read(&read, upTo: .max)
        run.process.waitUntilExit()
        #expect(read == 1 << 30 && run.process.terminationStatus == 0)
    }

    @Test("a GiB that is a MiB on the wire, being compressed, waits on the wire")
    func compressed() throws {
        let server = try WebSocketServer(compression: [:])
        let run = try Run([server.url("/flood?count=1024&size=1048576").absoluteString, "--compress"])
        var read = 0
        for goal in [1, 32, 128] {
            run.read(&read, upTo: goal * Self.mebibyte)
            #expect(try read >= goal * Self.mebibyte && run.memory("VmHWM") < Self.limit)
        }
        kill(run.process.processIdentifier, SIGKILL)  // a child of a thread of Dispatch may block the others
        run.process.waitUntilExit()
    }
}
