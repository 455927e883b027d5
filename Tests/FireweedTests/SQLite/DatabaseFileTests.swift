import FixtureServer
import Foundation
import Glibc
import Testing

@testable import Fireweed

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
        let table = try String(contentsOfFile: "/proc/locks", encoding: .utf8)
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

    @Test("a log that other users could read is its owner's alone when a store opens it")
    func openLog() throws {
        let first = try SQLiteResponseStore(url: file)
        for name in ["", "-wal", "-shm"] { chmod(file.path + name, 0o644) }
        let second = try SQLiteResponseStore(url: file)
        for name in ["", "-wal", "-shm"] { #expect(mode("database.sqlite" + name) == 0o600) }
        withExtendedLifetime((first, second)) {}
    }

    @Test("one place of the library opens databases, and nothing beside SQLite opens their files")
    func onePlace() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources")
        let opening =
            /\b(?:open|openat|creat|fopen|freopen)\(|FileHandle|FileContent|contentsOf|InputStream|OutputStream/
        // Files of Sources/Fireweed/SQLite that open something else.
        let exceptions = ["DatabaseLock.swift": "the lock file", "BootClock.swift": "/proc"]
        // SQLite's own, and the benchmarks' and the tests' are no part of the library.
        var places: [String] = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: root.path) where path.hasSuffix(".swift") {
            let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
            let code = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
            if code.contains(where: { $0.contains("sqlite3_open") }) { places.append(path) }
            let name = URL(fileURLWithPath: path).lastPathComponent
            guard path.hasPrefix("Fireweed/SQLite/"), exceptions[name] == nil else { continue }
            for line in code where line.contains(opening) && !line.contains("func open(") {
                let isOurs =
                    line.contains("database.open(") || line.contains("Self.open(") || line.contains("sqlite3_open")
                #expect(isOurs, "\(path): \(line)")
            }
        }
        #expect(places == ["Fireweed/SQLite/SQLiteConnection.swift"])
    }
}
