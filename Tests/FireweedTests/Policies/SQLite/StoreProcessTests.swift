import Fireweed
import FixtureServer
import Foundation
import Glibc
import Testing

@Suite("A store shared by processes", .timeLimit(.minutes(TestTimeouts.minutes)))
struct StoreProcessTests {
    private let folder: TemporaryFolder
    private var file: URL { folder.file("cache.sqlite") }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func program(_ arguments: [String], output: Pipe? = nil) throws -> Process {
        let process = Process()
        process.executableURL = TestPrograms.url
        process.arguments = ["store"] + arguments
        process.standardOutput = output ?? FileHandle.nullDevice
        try process.start()
        return process
    }

    /// The status that a process ends with.
    private func status(of process: Process) async -> Int32 {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                process.waitUntilExit()
                continuation.resume(returning: process.terminationStatus)
            }
        }
    }

    @Test("four processes that store and read at once read nothing torn, and none is refused")
    func together() async throws {
        let processes = try (0..<4).map { _ in try program(["mix", file.path, "250"]) }
        var codes: [Int32] = []
        for process in processes { codes.append(await status(of: process)) }
        #expect(codes == [0, 0, 0, 0])
        #expect(try await status(of: program(["check", file.path])) == 0)
        #expect(try SQLiteResponseStore(url: file).byteCount <= 4 << 20)
    }

    @Test("a process that is killed while it writes leaves no torn response, 25 times out of 25")
    func killed() async throws {
        for round in 0..<25 {
            let output = Pipe.closedOnExec()
            let writer = try program(["write", file.path], output: output)
            // It is in the middle of writing when it has said something: more each round, so that it dies at different
            // places.
            for _ in 0...(round % 5) { _ = output.fileHandleForReading.nextContent() }
            kill(writer.processIdentifier, SIGKILL)
            writer.waitUntilExit()
            #expect(writer.terminationReason == .uncaughtSignal)
            #expect(try await status(of: program(["check", file.path])) == 0, "round \(round)")
        }
        #expect(try !SQLiteResponseStore(url: file).byteCount.isMultiple(of: 1 << 30))
    }

    /// Runs `body` while another process has a lock on the file.
    private func whileLocked(_ body: () async throws -> Void) async throws {
        let output = Pipe.closedOnExec()
        let process = try program(["lock", file.path], output: output)
        _ = output.fileHandleForReading.nextContent()
        defer {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        #expect(process.isRunning)
        try await body()
    }

    @Test("a process that keeps the write lock stops no request of another one")
    func writeLocked() async throws {
        let server = try FixtureServer.start()
        let session = Session(
            configuration: .af.ephemeral, options: SessionOptions(responseStore: try SQLiteResponseStore(url: file)))
        let stored = server.url("/cache/1000?stored")
        _ = await session.request(stored).serializingData().response
        await session.flushResponseStore()
        try await whileLocked {
            // Each one that waited would take 5 seconds: all of them together more than this test may take.
            for number in 0..<400 {
                let url = server.url("/cache/1000?\(number)")
                #expect(await session.request(url).serializingData().response.metrics?.responseSource == .network)
                #expect(await session.request(stored).serializingData().response.metrics?.responseSource == .cache)
            }
        }
    }

    @Test("a session finds what another process has stored")
    func shared() async throws {
        // Another store object on a new connection stands for another process: nothing is shared but the file.
        let folder = try TemporaryFolder()
        let (first, second) = (
            try SQLiteResponseStore(url: folder.file("c")), try SQLiteResponseStore(url: folder.file("c"))
        )
        let server = try FixtureServer.start()
        let (writing, reading) = (
            Session(options: SessionOptions(responseStore: first)),
            Session(options: SessionOptions(responseStore: second))
        )
        _ = await writing.request(server.url("/cache/100")).serializingData().response
        await writing.flushResponseStore()
        let found = await reading.request(server.url("/cache/100")).serializingData().response
        #expect(found.metrics?.responseSource == .cache && server.requests.count == 1)
    }
}
