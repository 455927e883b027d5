import FixtureServer
import Foundation
import Glibc
import Testing

@testable import Fireweed
@testable import FireweedTransport

@Suite("Databases whose file changes", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FollowedDatabaseTests {
    private let folder: TemporaryFolder
    private var file: URL { folder.file("database.sqlite") }

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Stores something through one object, and says whether another one finds it.
    private func reaches(_ first: any Sendable, _ second: any Sendable) async throws -> Bool {
        let key = UUID().uuidString
        switch (first, second) {
        case (let first as SQLiteRateLimits, let second as SQLiteRateLimits):
            await first.setPause(.seconds(1000), of: key)
            return try await second.pause(of: key) != nil
        case (let first as SQLiteCredentialStore, let second as SQLiteCredentialStore):
            let entry = StoredCredential(version: 1, sealed: Data("a".utf8))
            guard try await first.replace(key, expecting: 0, with: entry, owner: "a") else { return false }
            return try await second.look(key, owner: nil, lease: .zero).entry == entry
        case (let first as SQLiteResponseStore, let second as SQLiteResponseStore):
            let head = StoredHead(
                response: ResponseHead(status: 200, fields: []), requestTime: Date(), responseTime: Date(),
                variant: ResponseVariant(names: [], selection: Data(), credentials: nil))
            try first.store(StoredResponse(head: head, content: Data("a".utf8)), for: key)
            return try second.response(for: key) { $0.isEmpty ? nil : 0 } != nil
        default: return false
        }
    }

    @Test(
        "whoever has a database open uses the file that is at its path, after the file was removed",
        arguments: DatabaseUser.allCases, [["", "-wal", "-shm"], [""]])
    func removed(user: DatabaseUser, suffixes: [String]) async throws {
        let first = try user.open(file)
        #expect(try await reaches(first, first))
        for suffix in suffixes { unlink(file.path + suffix) }
        #expect(try await reaches(first, first), "the file is made anew")
        let second = try user.open(file)
        #expect(try await reaches(first, second))
        #expect(try await reaches(second, first))
        withExtendedLifetime((first, second)) {}
    }

    @Test(
        "whoever has a database open uses the file that has replaced it, with and without the log of the old one",
        arguments: DatabaseUser.allCases, [["-wal", "-shm"], []])
    func replaced(user: DatabaseUser, suffixes: [String]) async throws {
        let first = try user.open(file)
        #expect(try await reaches(first, first))
        // An index that two files had would be cut off under one of them after some of these.
        for _ in 0..<50 {
            do {
                let other = try user.open(folder.file("other"))
                #expect(try await reaches(other, other))
            }
            // A limiter is released on its own queue, and SQLite does not bear that an open file gets another name. The
            // last connection that is closed removes the log.
            while FileManager.default.fileExists(atPath: folder.file("other-wal").path) { await Task.yield() }
            for suffix in suffixes { unlink(file.path + suffix) }
            #expect(rename(folder.file("other").path, file.path) == 0)
            let second = try user.open(file)
            #expect(try await reaches(first, second))
            #expect(try await reaches(second, first))
            withExtendedLifetime(second) {}
        }
        withExtendedLifetime(first) {}
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(!names.contains { $0.contains("damaged") })
    }

    @Test("a file that is moved away and back is used by no one else before who has it open lets it go")
    func movedBack() async throws {
        let first = try SQLiteResponseStore(url: file)
        #expect(try await reaches(first, first))
        #expect(rename(file.path, folder.file("away").path) == 0)
        do {
            let second = try SQLiteResponseStore(url: file)
            #expect(try await reaches(second, second))
        }
        #expect(rename(file.path, folder.file("trash").path) == 0)
        #expect(rename(folder.file("away").path, file.path) == 0)
        // The first one has the file open, with a log that is no longer at its path.
        #expect(throws: ResponseStoreError.busy) { try SQLiteResponseStore(url: file) }
        // It closes its connections at the next use, and opens none for a second after a failure.
        while (try? await reaches(first, first)) != true { await Task.yield() }
        let third = try SQLiteResponseStore(url: file)
        #expect(try await reaches(first, third))
        #expect(try await reaches(third, first))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(!names.contains { $0.contains("damaged") })
    }

    @Test("a file that has the inode of a removed one gets no log of that one", arguments: [true, false])
    func usedInode(isSame: Bool) throws {
        let first = try SQLiteResponseStore(url: file)
        let head = StoredHead(
            response: ResponseHead(status: 200, fields: []), requestTime: Date(), responseTime: Date(),
            variant: ResponseVariant(names: [], selection: Data(), credentials: nil))
        try first.store(StoredResponse(head: head, content: Data("a".utf8)), for: "k")
        // The files that a process leaves which dies now.
        let left = folder.file("left")
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: file.path + suffix, toPath: left.path + suffix)
        }
        let identity = try #require(DatabaseIdentity(path: left.path))
        let other = identity.text.prefix { $0 != " " } + " 1"
        try Data((isSame ? identity.text : String(other)).utf8).write(to: folder.file("left-lock"))
        let found = try SQLiteResponseStore(url: left).response(for: "k") { $0.isEmpty ? nil : 0 }
        #expect((found != nil) == isSame)
        withExtendedLifetime(first) {}
    }

    @Test("the text of an identity is read again, and nothing else is")
    func identity() throws {
        _ = try SQLiteResponseStore(url: file)
        let identity = try #require(DatabaseIdentity(path: file.path))
        #expect(DatabaseIdentity(text: identity.text) == identity)
        for text in ["", "1", "1 2 3", "a 1", "1 ", "-1 1", String(repeating: "9", count: 60)] {
            #expect(DatabaseIdentity(text: text) == nil)
        }
        #expect(DatabaseIdentity(path: folder.file("none").path) == nil)
    }

    @Test("a lock file that is a link is not followed")
    func linkedLock() throws {
        let victim = folder.file("victim")
        try Data("content".utf8).write(to: victim)
        try FileManager.default.createSymbolicLink(
            atPath: file.path + "-lock", withDestinationPath: victim.path)
        _ = try SQLiteResponseStore(url: file)
        #expect(try Data(contentsOf: victim) == Data("content".utf8))
    }

    @Test("a log is kept by a file that is opened again, and removed from one that has replaced its own")
    func companions() throws {
        let source = DatabaseSource(path: file.path, replacesDamaged: true) {
            (connection, waiting) throws(SQLiteFailure) in
            try connection.useWriteAheadLog(waitingMilliseconds: waiting.milliseconds)
            try connection.run("CREATE TABLE IF NOT EXISTS rows (number INTEGER)")
        }
        let waiting = DatabaseSource.Waiting(milliseconds: 1000, lockMilliseconds: 1000)
        func count() throws -> Int { try source.connect(waiting).number("SELECT count(*) FROM rows") }
        let first = try source.connect(waiting)
        try first.run("INSERT INTO rows VALUES (1)")
        #expect(try count() == 1)
        // The file alone, whose log has the row.
        #expect(try Data(contentsOf: URL(fileURLWithPath: file.path + "-wal")).isEmpty == false)
        try FileManager.default.copyItem(at: file, to: folder.file("other"))
        #expect(rename(folder.file("other").path, file.path) == 0)
        #expect(try count() == 0)
        withExtendedLifetime(first) {}
        // Of a version that wrote no identity into the lock file.
        #expect(truncate(file.path + "-lock", 0) == 0)
        let second = try source.connect(waiting)
        try second.run("INSERT INTO rows VALUES (1)")
        #expect(truncate(file.path + "-lock", 0) == 0)
        #expect(try count() == 1)
        withExtendedLifetime(second) {}
    }

    @Test("a limiter sets a damaged file aside, at its start and later")
    func damagedLimiter() async throws {
        let damage = Data(repeating: 7, count: 65_536)
        try damage.write(to: file)
        let first = try SQLiteRateLimits(file: file, name: "a", fallback: .open)
        #expect(try Data(contentsOf: folder.file("database.sqlite-damaged")) == damage)
        #expect(try await reaches(first, first))
        // Damage under an open connection, which SQLite finds when it reads the file again.
        let descriptor = open(file.path, O_WRONLY | O_CLOEXEC)
        for suffix in ["-wal", ""] {
            let damaged = suffix.isEmpty ? descriptor : open(file.path + suffix, O_WRONLY | O_CLOEXEC)
            #expect(damaged >= 0 && damage.withUnsafeBytes { pwrite(damaged, $0.baseAddress, $0.count, 0) } > 0)
            if damaged != descriptor { close(damaged) }
        }
        let second = try SQLiteRateLimits(file: file, name: "a", fallback: .open)
        #expect(try await reaches(second, second))
        #expect(try await reaches(first, second))
        close(descriptor)
    }

    @Test("a lock that is kept is waited for once, and other callers fail without waiting")
    func busy() throws {
        let source = DatabaseSource(path: file.path, replacesDamaged: false) { (_, _) throws(SQLiteFailure) in }
        let waiting = DatabaseSource.Waiting(milliseconds: 1, lockMilliseconds: 1)
        var patient = try FollowedDatabase(source, waiting: waiting, busyPause: .max)
        var next = try FollowedDatabase(source, waiting: waiting, busyPause: 0)
        let other = try SQLiteConnection(path: file.path, busyMilliseconds: 0)
        try other.run("BEGIN IMMEDIATE")
        var tryCount = 0
        func write(_ database: inout FollowedDatabase) -> Bool {
            do throws(SQLiteFailure) {
                try database.use { (connection: SQLiteConnection) throws(SQLiteFailure) in
                    tryCount += 1
                    try connection.run("BEGIN IMMEDIATE; COMMIT")
                }
                return true
            } catch {
                #expect(error.isBusy)
                return false
            }
        }
        for _ in 0..<3 { #expect(!write(&patient)) }
        #expect(tryCount == 1)
        #expect(!write(&next))
        try other.run("COMMIT")
        #expect(write(&next) && tryCount == 3)
    }

    @Test("a damaged vault is an error, and its file stays")
    func damagedVault() throws {
        let damage = Data(repeating: 7, count: 65_536)
        try damage.write(to: file)
        #expect(throws: CredentialVaultError.self) { try SQLiteCredentialStore(file: file) }
        #expect(try Data(contentsOf: file) == damage)
    }
}
