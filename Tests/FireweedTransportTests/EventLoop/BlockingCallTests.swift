import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Calls that may wait", .timeLimit(.minutes(TestTimeouts.minutes)))
struct BlockingCallTests {
    #if DEBUG
        @Test("end a debug build on an event loop's thread")
        func onLoop() async {
            await #expect(processExitsWith: .failure) {
                let loop = try #require(EventLoop(name: "test-loop"))
                await withCheckedContinuation { continuation in
                    loop.post { _ in
                        BlockingCall.run("open") {}
                        continuation.resume()
                    }
                }
            }
        }
    #endif

    @Test("are a task's own affair where it runs on the session's executor, and pass everywhere else")
    func elsewhere() async throws {
        let loop = try #require(EventLoopGroup.loops(1).first)
        #expect(BlockingCall.run("open") { 1 } == 1)
        let task = Task(executorPreference: loop) {
            #expect(loop.isCurrent)
            return BlockingCall.run("open") { 2 }
        }
        #expect(await task.value == 2)
    }

    /// Files that make such calls without the gate, and why they may.
    private static let exceptions = [
        "FileBodyReader.swift": "the null device, which waits for nothing",
        "OpenFile.swift": "opened on the threads for content, or by a caller's own closure that makes a reader",
        "KeyLog.swift": "opened once for each transport and loop, and only by programs that log TLS secrets",
        "StoreDatabase.swift": "asks for the number of a file beside a connection, which passes the gate",
    ]

    @Test("pass the gate in every file that makes them")
    func everyFile() throws {
        let calls =
            /(?:^|[^.\w])(?:Glibc\.)?(?:open\([^\n]*O_|getaddrinfo\(\w|fsync\(|l?stat\((?!\)))|\bsqlite3_(?:step|open_v2|exec)\(/
        let sources = Repository.root.appending(path: "Sources")
        for target in ["FireweedTransport", "Fireweed", "FireweedFleet"] {
            let folder = sources.appendingPathComponent(target)
            let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
            for case let file as URL in files where file.pathExtension == "swift" {
                let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
                let found = lines.first { line in
                    !line.drop { $0 == " " }.hasPrefix("//") && line.contains(calls)
                }
                guard let found, Self.exceptions[file.lastPathComponent] == nil else { continue }
                #expect(
                    lines.contains { $0.contains("BlockingCall.") },
                    "\(file.lastPathComponent) has \(found) and no BlockingCall")
            }
        }
    }
}
