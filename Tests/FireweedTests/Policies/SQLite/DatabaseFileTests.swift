import FixtureServer
import Foundation
import Glibc
import Synchronization
import Testing

@testable import Fireweed
@testable import FireweedTransport

/// What opens a database of the library.
enum DatabaseUser: String, CaseIterable, Sendable {
    case responses, limits, credentials

    func open(_ file: URL) throws -> any Sendable {
        switch self {
        case .responses: try SQLiteResponseStore(url: file)
        case .limits: try SQLiteRateLimits(file: file, name: "a", fallback: .open)
        case .credentials: try SQLiteCredentialStore(file: file)
        }
    }
}

@Suite("The file of a database", .timeLimit(.minutes(TestTimeouts.minutes)))
struct DatabaseFileTests {
    private let folder: TemporaryFolder
    private var file: URL { folder.file("database.sqlite") }

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The locks of this process on a file, as the kernel lists them (proc_locks(5)).
    private func locks(on file: URL) throws -> [String] {
        var status = stat()
        try #require(stat(file.path, &status) == 0)
        // Foundation's `String(contentsOfFile:)` reads one page of a file of procfs.
        let data = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/locks")).readToEnd() ?? Data()
        let table = String(decoding: data, as: UTF8.self)
        return table.split(separator: "\n").map { $0.split(separator: " ").dropFirst().joined(separator: " ") }
            .filter { $0.hasPrefix("POSIX") && $0.contains(" \(getpid()) ") && $0.contains(":\(status.st_ino) ") }
            .sorted()
    }

    private func mode(_ name: String) -> UInt32 {
        var status = stat()
        return stat(folder.file(name).path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test(
        "who opens a database takes no lock away from the connections of its process", arguments: DatabaseUser.allCases)
    func locksStay(user: DatabaseUser) throws {
        let first = try user.open(file)
        let connection = try SQLiteConnection(path: file.path, busyMilliseconds: 0)
        try connection.run("BEGIN; SELECT * FROM sqlite_schema")
        let held = try locks(on: file)
        #expect(!held.isEmpty)
        let second = try user.open(file)
        #expect(Set(held).isSubset(of: try locks(on: file)))
        try connection.run("COMMIT")
        withExtendedLifetime((first, second)) {}
    }

    @Test("a new database is its owner's alone", arguments: DatabaseUser.allCases)
    func newFile(user: DatabaseUser) throws {
        let opened = try user.open(file)
        #expect(mode("database.sqlite") == 0o600)
        withExtendedLifetime(opened) {}
    }

    @Test("a database is made at the end of a symbolic link", arguments: DatabaseUser.allCases)
    func link(user: DatabaseUser) throws {
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link").path, withDestinationPath: "database.sqlite")
        let opened = try user.open(folder.file("link"))
        #expect(mode("database.sqlite") == 0o600)
        withExtendedLifetime(opened) {}
    }

    @Test("a pipe or a folder is an error, which does not wait", arguments: DatabaseUser.allCases)
    func noFile(user: DatabaseUser) throws {
        mkfifo(file.path, 0o600)
        #expect(throws: (any Error).self) { try user.open(file) }
        #expect(throws: (any Error).self) { try user.open(folder.url) }
    }

    @Test("a journal that other users could read is its owner's alone when a store opens it")
    func openJournal() throws {
        let first = try SQLiteResponseStore(url: file)
        let connection = try SQLiteConnection(path: file.path, busyMilliseconds: 0)
        try connection.run("BEGIN IMMEDIATE; CREATE TABLE t (x)")
        for name in ["", "-journal"] { #expect(chmod(file.path + name, 0o644) == 0) }
        let second = try SQLiteResponseStore(url: file)
        for name in ["", "-journal"] { #expect(mode("database.sqlite" + name) == 0o600) }
        try connection.run("COMMIT")
        withExtendedLifetime((first, second)) {}
    }

    /// Holds the last reference to something.
    private final class Holder: Sendable {
        private let value: Mutex<(any Sendable)?>

        init(_ value: any Sendable) { self.value = Mutex(value) }

        func release() {
            let last = value.withLock { $0.take() }
            _ = last
        }
    }

    // In a debug build a call that may wait ends the process on a loop's thread.
    @Test(
        "who is released on an event loop's thread waits for no disk there, and closes the file all the same",
        arguments: DatabaseUser.allCases)
    func releasedOnLoop(user: DatabaseUser) async throws {
        let holder = try makeHolder(user)
        let loop = try #require(EventLoop(name: "test-loop"))
        await withCheckedContinuation { continuation in
            loop.post { _ in
                #expect(LoopThread.isCurrent)
                holder.release()
                continuation.resume()
            }
        }
        while isOpen { await Task.yield() }
    }

    /// Whether this process has a descriptor of the file.
    private var isOpen: Bool {
        let links = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return links.contains {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == file.path
        }
    }

    private func makeHolder(_ user: DatabaseUser) throws -> Holder {
        let opened = try user.open(file)
        if let store = opened as? SQLiteResponseStore {
            let head = StoredHead(
                response: ResponseHead(status: 200, fields: []), requestTime: Date(), responseTime: Date(),
                variant: ResponseVariant(names: [], selection: Data(), credentials: nil))
            try store.store(StoredResponse(head: head, content: Data("a".utf8)), for: "k")
            // The use is noted, and would be written with the next response.
            #expect(try store.response(for: "k") { $0.isEmpty ? nil : 0 } != nil)
        }
        return Holder(opened)
    }

    // MARK: The lock

    private func take(_ kind: FileLock.Kind, waitingMilliseconds: Int) -> DatabaseLock.Failure? {
        do throws(DatabaseLock.Failure) {
            try DatabaseLock(besideDatabaseAt: file.path).take(kind, waitingMilliseconds: waitingMilliseconds)
            return nil
        } catch {
            return error
        }
    }

    @Test("a lock that another process keeps is not waited for without end")
    func boundedWait() throws {
        let lock = try DatabaseLock(besideDatabaseAt: file.path)
        try lock.take(.shared, waitingMilliseconds: 0)
        #expect(take(.exclusive, waitingMilliseconds: 0) == .busy)
        #expect(take(.exclusive, waitingMilliseconds: 100) == .busy)
        #expect(take(.shared, waitingMilliseconds: 0) == nil)
        lock.release()
        #expect(take(.exclusive, waitingMilliseconds: 0) == nil)
    }

    @Test("whoever waits for the lock gets it when the other process releases it")
    func waited() async throws {
        let descriptor = open("\(file.path)-lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(flock(descriptor, LOCK_EX) == 0)
        let (outcomes, outcome) = AsyncStream<DatabaseLock.Failure?>.makeStream()
        Thread.detachNewThread { outcome.yield(take(.shared, waitingMilliseconds: 60_000)) }
        FileLock.close(descriptor)
        for await failure in outcomes {
            #expect(failure == nil)
            break
        }
    }

    @Test("a store whose lock another process keeps is busy, and opens when the lock is free")
    func busyStore() throws {
        let descriptor = open("\(file.path)-lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        #expect(flock(descriptor, LOCK_EX) == 0)
        #expect(throws: ResponseStoreError.busy) { try SQLiteResponseStore(url: file) }
        FileLock.close(descriptor)
        #expect(try SQLiteResponseStore(url: file).byteCount == 0)
    }

    @Test("a database has one lock, by whichever symbolic link it is opened")
    func linkedLock() throws {
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link").path, withDestinationPath: "database.sqlite")
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("second").path, withDestinationPath: folder.file("link").path)
        for name in ["database.sqlite", "link", "second"] {
            #expect(try SQLiteResponseStore(url: folder.file(name)).byteCount == 0)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(names.filter { $0.hasSuffix("-lock") } == ["database.sqlite-lock"])
    }

    @Test("a damaged database is replaced where it is, also by a symbolic link to it")
    func linkedDamage() throws {
        try Data(repeating: 7, count: 8192).write(to: file)
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("link").path, withDestinationPath: "database.sqlite")
        let (byLink, direct) = (
            try SQLiteResponseStore(url: folder.file("link")), try SQLiteResponseStore(url: file)
        )
        var (linked, named) = (stat(), stat())
        #expect(stat(folder.file("link").path, &linked) == 0 && stat(file.path, &named) == 0)
        #expect(linked.st_ino == named.st_ino)
        let target = try FileManager.default.destinationOfSymbolicLink(atPath: folder.file("link").path)
        #expect(target == "database.sqlite", "the link stays")
        withExtendedLifetime((byLink, direct)) {}
    }

    @Test("one place of the library opens databases, and nothing beside SQLite opens their files")
    func onePlace() throws {
        let root = Repository.root.appending(path: "Sources")
        let opening =
            /\b(?:open|openat|creat|fopen|freopen)\(|FileHandle|FileContent|contentsOf|InputStream|OutputStream/
        // Files of Policies/SQLite that open something else.
        let exceptions = ["DatabaseLock.swift": "the lock file", "BootClock.swift": "/proc"]
        // SQLite's own, and the benchmarks' and the tests' are no part of the library.
        var places: [String] = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: root.path) where path.hasSuffix(".swift") {
            let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
            let code = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
            if code.contains(where: { $0.contains("sqlite3_open") }) { places.append(path) }
            let name = URL(fileURLWithPath: path).lastPathComponent
            guard path.hasPrefix("Fireweed/Policies/SQLite/"), exceptions[name] == nil else { continue }
            for line in code where line.contains(opening) && !line.contains("func open(") {
                let isOurs =
                    line.contains("database.open(") || line.contains("Self.open(") || line.contains("sqlite3_open")
                #expect(isOurs, "\(path): \(line)")
            }
        }
        #expect(places == ["Fireweed/Policies/SQLite/SQLiteConnection.swift"])
    }
}
