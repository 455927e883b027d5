#if SQLite
import FixtureServer
import Foundation
import Glibc
import Testing

@testable import Fireweed

@Suite("The connections of a process to one file")
struct OpenDatabaseTests {
    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.file("a.sqlite").path
    }

    private func connection() throws -> SQLiteConnection { try SQLiteConnection(path: path, busyMilliseconds: 1000) }

    /// The number of this process's descriptors of the file.
    private var descriptorCount: Int {
        let links = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return links.count {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
        }
    }

    @Test("no descriptor is closed while another connection may take a lock, and what is left over is used again")
    func kept() throws {
        var first: SQLiteConnection? = try connection()
        try first?.run("CREATE TABLE t (x)")
        var others: [SQLiteConnection] = try (0..<3).map { _ in try connection() }
        for other in others { #expect(try other.number("SELECT count(*) FROM t") == 0) }
        #expect(descriptorCount == 4)
        others = []
        #expect(descriptorCount == 4)
        for round in 1...10 {
            let other = try connection()
            try other.run("INSERT INTO t VALUES (1)")
            #expect(try first?.number("SELECT count(*) FROM t") == round && descriptorCount == 4)
        }
        first = nil
        #expect(descriptorCount == 0)
        #expect(try connection().number("SELECT count(*) FROM t") == 10)
    }

    @Test("a transaction that its owner has left open is not the next owner's")
    func leftOpen() throws {
        let first = try connection()
        try first.run("CREATE TABLE t (x)")
        var other: SQLiteConnection? = try connection()
        try other?.run("BEGIN IMMEDIATE")
        try other?.run("INSERT INTO t VALUES (1)")
        other = nil
        #expect(try first.number("SELECT count(*) FROM t") == 0)
        try first.run("INSERT INTO t VALUES (2)")
        #expect(try connection().number("SELECT count(*) FROM t") == 1)
    }

    @Test("a file that takes the place of another one has connections of its own")
    func replaced() throws {
        let first = try connection()
        try first.run("CREATE TABLE t (x)")
        _ = try connection()
        #expect(unlink(path) == 0)
        let second = try connection()
        #expect(first.hasMoved && !second.hasMoved)
        #expect(try second.number("SELECT count(*) FROM sqlite_master") == 0)
    }
}
#endif
