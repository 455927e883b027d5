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
        arguments: DatabaseUser.allCases, [["", "-lock"], [""]])
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
        "whoever has a database open uses the file that has replaced it, with and without the lock of the old one",
        arguments: DatabaseUser.allCases, [["-lock"], []])
    func replaced(user: DatabaseUser, suffixes: [String]) async throws {
        let first = try user.open(file)
        #expect(try await reaches(first, first))
        for _ in 0..<50 {
            let other = try user.open(folder.file("other"))
            #expect(try await reaches(other, other))
            for suffix in suffixes { unlink(file.path + suffix) }
            #expect(rename(folder.file("other").path, file.path) == 0)
            let second = try user.open(file)
            #expect(try await reaches(first, second))
            #expect(try await reaches(second, first))
            withExtendedLifetime((second, other)) {}
        }
        withExtendedLifetime(first) {}
        try expectNothingDamaged()
    }

    private func expectNothingDamaged() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(!names.contains { $0.contains("damaged") }, "\(names)")
    }

    @Test("a file that is moved away and back is used by all, at once", arguments: DatabaseUser.allCases)
    func movedBack(user: DatabaseUser) async throws {
        let first = try user.open(file)
        #expect(try await reaches(first, first))
        for _ in 0..<10 {
            #expect(rename(file.path, folder.file("away").path) == 0)
            let second = try user.open(file)
            #expect(try await reaches(second, second))
            #expect(rename(file.path, folder.file("trash").path) == 0)
            #expect(rename(folder.file("away").path, file.path) == 0)
            let third = try user.open(file)
            #expect(try await reaches(third, first))
            #expect(try await reaches(first, second))
            #expect(try await reaches(second, third))
            withExtendedLifetime((second, third)) {}
        }
        withExtendedLifetime(first) {}
        try expectNothingDamaged()
    }

    @Test("a file that is moved, with a link at its old place, is used by both paths", arguments: DatabaseUser.allCases)
    func movedWithLink(user: DatabaseUser) async throws {
        let first = try user.open(file)
        #expect(try await reaches(first, first))
        #expect(rename(file.path, folder.file("moved").path) == 0)
        let second = try user.open(folder.file("moved"))
        #expect(try await reaches(second, second))
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "moved")
        #expect(try await reaches(first, second))
        #expect(try await reaches(second, first))
        let third = try user.open(file)
        #expect(try await reaches(third, first))
        withExtendedLifetime((first, second, third)) {}
        try expectNothingDamaged()
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path)
        #expect(names.filter { $0.hasSuffix("-lock") }.sorted() == ["database.sqlite-lock", "moved-lock"])
    }

    @Test("a link that leads to another file is followed", arguments: DatabaseUser.allCases)
    func otherLink(user: DatabaseUser) async throws {
        let link = folder.file("link")
        for name in ["one", "two"] {
            unlink(link.path)
            try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: name)
            let (byLink, direct) = (try user.open(link), try user.open(folder.file(name)))
            #expect(try await reaches(byLink, direct))
            unlink(link.path)
            try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "\(name)-next")
            let next = try user.open(folder.file("\(name)-next"))
            #expect(try await reaches(byLink, next))
            withExtendedLifetime(direct) {}
        }
    }

    // MARK: Journals

    /// Whose journal lies beside a database.
    enum Journal: CaseIterable, Sendable {
        /// The database's own, of a process that was killed.
        case own
        /// That of a database of which this one has the place, and perhaps the inode.
        case other
        /// The lock file is a copy, as are the database and the journal perhaps.
        case copied
        /// There is no lock file.
        case unknown
    }

    /// Makes `name` with the number 2 in it, and the journal that a process leaves which is killed just before its
    /// change from 1 to 2 is whole.
    private func makeKilled(_ name: String, _ journal: Journal) throws {
        let connection = try SQLiteConnection(path: file.path, busyMilliseconds: 0)
        // Written at once, a journal counts before the change is whole.
        try connection.run("PRAGMA synchronous = OFF")
        try connection.run("CREATE TABLE numbers (number INTEGER); INSERT INTO numbers VALUES (1)")
        try connection.run("BEGIN IMMEDIATE; UPDATE numbers SET number = 2")
        let left = folder.file(name)
        try FileManager.default.copyItem(atPath: file.path + "-journal", toPath: left.path + "-journal")
        try connection.run("COMMIT")
        try FileManager.default.copyItem(at: file, to: left)
        let identity = try #require(DatabaseIdentity(path: left.path))
        let lock = try DatabaseLock(besideDatabaseAt: left.path)
        switch journal {
        case .own: #expect(lock.note(identity))
        case .other: #expect(lock.note(DatabaseIdentity(text: identity.text.prefix { $0 != " " } + " 1")))
        case .copied:
            #expect(lock.note(identity))
            let file = URL(fileURLWithPath: left.path + "-lock")
            let text = try Data(contentsOf: file)
            try FileManager.default.moveItem(at: file, to: folder.file("former-lock"))
            try text.write(to: file)
        case .unknown: unlink(left.path + "-lock")
        }
    }

    @Test(
        "a journal is used by the file that it belongs to, and by no other one", arguments: Journal.allCases,
        [true, false])
    func journals(journal: Journal, replacesDamaged: Bool) throws {
        try makeKilled("left", journal)
        let left = folder.file("left").path
        let source = DatabaseSource(path: left, replacesDamaged: replacesDamaged) {
            (connection, _) throws(SQLiteFailure) in
            try connection.run("CREATE TABLE IF NOT EXISTS numbers (number INTEGER)")
        }
        let waiting = DatabaseSource.Waiting(milliseconds: 1000, lockMilliseconds: 1000)
        let number = try source.connect(waiting).connection.number("SELECT number FROM numbers")
        switch journal {
        case .own: #expect(number == 1)
        case .other: #expect(number == 2)
        case .copied, .unknown: #expect(number == (replacesDamaged ? 0 : 1))
        }
        func exists(_ suffix: String) -> Bool { FileManager.default.fileExists(atPath: left + suffix) }
        #expect(!exists("-journal"))
        #expect(exists("-damaged") == ([.copied, .unknown].contains(journal) && replacesDamaged))
        #expect(exists("-journal-other") == (journal == .other && !replacesDamaged), "content that may not be lost")
    }

    @Test("a file in the middle of a change is not set aside when its lock file is missing")
    func unknownAndUsed() throws {
        let source = DatabaseSource(path: file.path, replacesDamaged: true) { (_, _) throws(SQLiteFailure) in }
        let waiting = DatabaseSource.Waiting(milliseconds: 0, lockMilliseconds: 0)
        let connection = try source.connect(waiting).connection
        try connection.run("CREATE TABLE numbers (number INTEGER)")
        try connection.run("BEGIN IMMEDIATE; INSERT INTO numbers VALUES (1)")
        #expect(unlink(file.path + "-lock") == 0)
        #expect { try source.connect(waiting) } throws: { ($0 as? SQLiteFailure)?.isBusy ?? false }
        try connection.run("COMMIT")
        #expect(try source.connect(waiting).connection.number("SELECT number FROM numbers") == 1)
        try expectNothingDamaged()
    }

    // MARK: The lock file

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

    @Test("another program's file, a pipe or a folder in the lock file's place is left alone", arguments: 0..<3)
    func foreignLock(kind: Int) async throws {
        let lock = folder.file("database.sqlite-lock")
        switch kind {
        case 0: try Data("a document".utf8).write(to: lock)
        case 1: mkfifo(lock.path, 0o600)
        default: try FileManager.default.createDirectory(at: lock, withIntermediateDirectories: false)
        }
        let (first, second) = (try SQLiteResponseStore(url: file), try SQLiteResponseStore(url: file))
        #expect(try await reaches(first, second))
        if kind == 0 { #expect(try Data(contentsOf: lock) == Data("a document".utf8)) }
    }

    @Test("no use begins while somebody has the lock alone, and none is under way then")
    func alone() throws {
        let waiting = DatabaseSource.Waiting(milliseconds: 0, lockMilliseconds: 0)
        let source = DatabaseSource(path: file.path, replacesDamaged: true) { (_, _) throws(SQLiteFailure) in }
        var database = try FollowedDatabase(source, waiting: waiting, busyPause: 0)
        let lock = try DatabaseLock(besideDatabaseAt: file.path)
        try database.use { (_: SQLiteConnection) throws(SQLiteFailure) -> Void in
            #expect(throws: DatabaseLock.Failure.busy) { try lock.take(.exclusive, waitingMilliseconds: 0) }
        }
        try lock.take(.exclusive, waitingMilliseconds: 0)
        #expect(throws: SQLiteFailure.self) {
            try database.use { (_: SQLiteConnection) throws(SQLiteFailure) -> Void in Issue.record("a use began") }
        }
        // What the lock file says counts: the next use opens the file again.
        #expect(lock.note(nil))
        lock.release()
        var old: SQLiteConnection?
        try database.use { (connection: SQLiteConnection) throws(SQLiteFailure) in old = connection }
        #expect(lock.identity == DatabaseIdentity(path: file.path) && old != nil)
    }

    @Test("a full lock file's text takes the place of a longer one, and of none")
    func notes() throws {
        let lock = try DatabaseLock(besideDatabaseAt: file.path)
        for text in ["9446744073709551615 9446744073709551615", "1 2", "99 100"] {
            let identity = try #require(DatabaseIdentity(text: text))
            #expect(lock.note(identity) && lock.identity == identity)
            #expect(lock.note(nil) && lock.identity == nil)
        }
        #expect(try Data(contentsOf: folder.file("database.sqlite-lock")).count == 64)
    }

    @Test("a pause that a damaged row names holds a day at most")
    func longPause() async throws {
        let limits = try SQLiteRateLimits(file: file, name: "a", fallback: .open)
        await limits.setPause(.seconds(1000), of: "k")
        let connection = try SQLiteConnection(path: file.path, busyMilliseconds: 5000)
        try connection.run("UPDATE slots SET paused = ?", .number(.max))
        #expect(try #require(try await limits.pause(of: "k")) <= .seconds(86_400))
    }

    // MARK: Damage

    @Test("a limiter sets a damaged file aside, at its start and later")
    func damagedLimiter() async throws {
        let damage = Data(repeating: 7, count: 65_536)
        try damage.write(to: file)
        let first = try SQLiteRateLimits(file: file, name: "a", fallback: .open)
        #expect(try Data(contentsOf: folder.file("database.sqlite-damaged")) == damage)
        #expect(try await reaches(first, first))
        // Damage under an open connection, which SQLite finds when it reads the file again.
        let descriptor = open(file.path, O_WRONLY | O_CLOEXEC)
        #expect(descriptor >= 0 && damage.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) } > 0)
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
