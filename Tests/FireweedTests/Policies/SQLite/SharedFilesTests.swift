import FixtureServer
import Foundation
import Glibc
import Synchronization
import Testing

@testable import Fireweed

/// How long the processes work: a minute, or as `make shared-files` says.
private enum SharedTime {
    static let seconds = ProcessInfo.processInfo.environment["FIREWEED_SHARED_TIME"].flatMap { Int($0) } ?? 60
    /// The time limit of the test.
    static let minutes = seconds / 60 + TestTimeouts.minutes
}

/// What became of the workers.
private final class Record: Sendable {
    let failures = Mutex<[String]>([])
    let killCount = Atomic(0)
    /// How often locks on the files were looked for, and found.
    let lockCount = Atomic(0)
}

@Suite("Files that eight processes share", .timeLimit(.minutes(SharedTime.minutes)))
struct SharedFilesTests {
    private static let workerCount = 8

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("eight processes of which one is killed all the time lose no response, no credential, no slot and no lock")
    func killed() async throws {
        let end = ContinuousClock.now + .seconds(SharedTime.seconds)
        let record = Record()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<Self.workerCount {
                group.addTask {
                    // Reading a worker's output waits, which no thread of Swift's concurrency may.
                    await withCheckedContinuation { continuation in
                        Thread.detachNewThread {
                            while ContinuousClock.now < end, record.failures.withLock(\.isEmpty) {
                                if let failure = life(of: number) { record.failures.withLock { $0.append(failure) } }
                                record.killCount.add(1, ordering: .relaxed)
                            }
                            continuation.resume()
                        }
                    }
                }
            }
            group.addTask {
                await withCheckedContinuation { continuation in
                    Thread.detachNewThread {
                        while ContinuousClock.now < end, record.failures.withLock(\.isEmpty) {
                            do {
                                try lockFiles()
                                record.lockCount.add(1, ordering: .relaxed)
                            } catch {
                                record.failures.withLock { $0.append("lock: \(error)") }
                            }
                            usleep(20_000)  // the workers need the files too
                        }
                        continuation.resume()
                    }
                }
            }
        }
        #expect(record.failures.withLock { $0 } == [])
        #expect(record.lockCount.load(ordering: .relaxed) > 0)
        #expect(record.killCount.load(ordering: .relaxed) >= Self.workerCount)
        try checkFiles()
        try checkSlots()
        try await checkCredentials()
    }

    /// Runs a worker for some rounds and kills it; returns what is wrong where it ended before.
    private func life(of number: Int) -> String? {
        let output = Pipe.closedOnExec()
        let process = Process()
        process.executableURL = TestPrograms.url
        process.arguments = ["shared", folder.url.path, "\(number)", "\(Self.workerCount)"]
        process.standardOutput = output
        do { try process.start() } catch { return "\(error)" }
        // Killed after some output, so at any place of the next round; now and then while it opens the files.
        for _ in 0..<Int.random(in: 0...4) where output.fileHandleForReading.nextContent().isEmpty { break }
        if Bool.random() { usleep(.random(in: 0..<50_000)) }  // anywhere within a round
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        let isKilled = process.terminationReason == .uncaughtSignal && process.terminationStatus == SIGKILL
        return isKilled ? nil : "worker \(number): \(process.terminationReason) \(process.terminationStatus)"
    }

    /// Writes to each file beside the workers, and opens it a second time meanwhile: the lock stays.
    ///
    /// A connection has a lock only during a transaction, so that the workers cannot look for theirs.
    private func lockFiles() throws {
        // A limiter writes when it is opened.
        for (name, user) in [("vault", DatabaseUser.credentials), ("responses", .responses), ("kept", .responses)] {
            let file = folder.file("\(name).sqlite")
            let first = try user.open(file)
            let connection = try SQLiteConnection(path: file.path, busyMilliseconds: 60_000)
            var isLost = false
            try connection.transaction { () throws(SQLiteFailure) in
                let second = try? user.open(file)
                isLost = second == nil || !hasLock(on: file)
            }
            withExtendedLifetime(first) {}
            if isLost { throw POSIXError(.ENOLCK) }
        }
    }

    /// The kernel's list changes while it is read: a lock that is not found is looked for again.
    private func hasLock(on file: URL) -> Bool {
        (0..<100).contains { _ in
            var status = stat()
            // Foundation's `String(contentsOfFile:)` reads one page of a file of procfs.
            guard stat(file.path, &status) == 0,
                let table = try? FileHandle(forReadingAtPath: "/proc/locks")?.readToEnd()
            else { return false }
            return String(decoding: table, as: UTF8.self).split(separator: "\n").contains {
                $0.contains("POSIX") && $0.contains(" \(getpid()) ") && $0.contains(":\(status.st_ino) ")
            }
        }
    }

    private func checkFiles() throws {
        for name in ["responses", "kept", "limits", "vault"] {
            let file = folder.file("\(name).sqlite")
            let connection = try SQLiteConnection(path: file.path, busyMilliseconds: 5000)
            var answers: [String] = []
            try connection.statement("PRAGMA integrity_check").rows([]) { answers.append($0.text(0)) }
            #expect(answers == ["ok"], "\(name)")
            #expect(!FileManager.default.fileExists(atPath: file.path + "-damaged"))
        }
    }

    private func lines(_ name: String) throws -> [Int] {
        try String(contentsOf: folder.file("\(name).log"), encoding: .utf8).split(separator: "\n").compactMap {
            Int($0)
        }
    }

    /// No slot was given twice, nor two slots closer together than the limit's.
    private func checkSlots() throws {
        let moments = try lines("slots").sorted()
        let gaps = zip(moments, moments.dropFirst()).map { $1 - $0 }
        #expect(!gaps.isEmpty && gaps.allSatisfy { $0 >= 1999 }, "\(gaps.min() ?? 0) microseconds")
    }

    private func checkCredentials() async throws {
        struct Token: AuthenticationCredential, Codable {
            let number: Int
            var requiresRefresh: Bool { false }
        }
        for number in 0..<Self.workerCount {
            guard let last = try? lines("credential\(number)").last else { continue }
            let vault = try CredentialVault<Token>(
                file: folder.file("vault.sqlite"), name: "worker \(number)", key: Data(repeating: 7, count: 32))
            #expect(try await vault.credential()?.number ?? 0 >= last)
        }
    }
}
