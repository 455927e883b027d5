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
                    BlockingCall.check("open")
                    continuation.resume()
                }
            }
        }
    }
    #endif

    @Test("are a task's own affair where it runs on the session's executor, and pass everywhere else")
    func elsewhere() async throws {
        let loop = try #require(EventLoopGroup.loops(1).first)
        BlockingCall.check("open")
        let task = Task(executorPreference: loop) {
            BlockingCall.check("open")
            return loop.isCurrent
        }
        #expect(await task.value)
    }

    /// Calls without the gate, by their file and a part of their line, and why they may be made.
    private static let exceptions = [
        ("Descriptors.swift", "make {", "passes the gate in `make`"),
        ("FileBodyReader.swift", "/dev/null", "the null device, which waits for nothing"),
        ("FileDestination.swift", "/proc/self/", "the kernel's own folder, which waits for nothing"),
        ("FileVersion.swift", "stat($0", "files of authorities, which a loop reads"),
        ("FileVersion.swift", "fstatat(", "the same"),
        ("FileVersion.swift", "opendir(", "the same"),
        ("KeyLog.swift", "O_APPEND", "opened once for each transport and loop, by programs that log TLS secrets"),
    ]

    @Test("pass the gate, each of them, in the function that makes it")
    func everyCall() throws {
        let calls =
            /(?:^|[^.\w])(?:Glibc\.)?(?:open\([^\n]*O_|getaddrinfo\(\w|fsync\(|pread\(|l?stat\((?!\))|fstatat\(|opendir\()|\bsqlite3_(?:step|open_v2|exec|close_v2)\(|\w\.open\(\)|\.read\([^\n]*maxLength:/
        let declaration =
            /\bfunc \S|\binit[?(<]|\bdeinit\b|^ *(?:(?:static|private|package|public) )*(?:var|let) \w+: [^=\n]*(?:= )?\{$/
        let sources = Repository.root.appending(path: "Sources")
        var callCount = 0
        var unused = Set(Self.exceptions.map(\.0))
        for target in ["FireweedTransport", "Fireweed", "FireweedFleet"] {
            let folder = sources.appendingPathComponent(target)
            let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
            for case let file as URL in files where file.pathExtension == "swift" {
                let name = file.lastPathComponent
                let lines = try String(contentsOf: file, encoding: .utf8).split(
                    separator: "\n", omittingEmptySubsequences: false)
                for (index, line) in lines.enumerated() {
                    guard !line.drop(while: { $0 == " " }).hasPrefix("//"), line.contains(calls) else { continue }
                    callCount += 1
                    if Self.exceptions.contains(where: { $0.0 == name && line.contains($0.1) }) {
                        unused.remove(name)
                        continue
                    }
                    let start = lines[...index].lastIndex { $0.contains(declaration) } ?? index
                    #expect(
                        lines[start...index].contains { $0.contains("BlockingCall.") },
                        "\(name):\(index + 1) has no gate before it: \(line)")
                }
            }
        }
        #expect(callCount > 30 && unused.isEmpty, "\(callCount) calls; no longer made: \(unused)")
    }
}
