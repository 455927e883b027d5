import FixtureServer
import Foundation
import Testing

@testable import Fireweed

/// A store of commit bd919ca0, whose form had the number 2.
///
/// The command made it: `fireweed --cache http://127.0.0.1:8081/a`.
enum FormerStore {
    static let key = "http://127.0.0.1:8081/a"

    /// What a program of that time does when the file has another number.
    static let tables = """
        DROP TABLE IF EXISTS responses;
        DROP TABLE IF EXISTS totals;
        CREATE TABLE responses (
            key TEXT NOT NULL, variant BLOB NOT NULL, tag INTEGER NOT NULL, head BLOB NOT NULL,
            head_check INTEGER NOT NULL, content_check INTEGER NOT NULL, byte_count INTEGER NOT NULL,
            used_at INTEGER NOT NULL, content BLOB NOT NULL);
        CREATE UNIQUE INDEX responses_by_key ON responses (key, variant);
        CREATE INDEX responses_by_use ON responses (used_at);
        CREATE TABLE totals (byte_count INTEGER NOT NULL);
        INSERT INTO totals VALUES (0);
        CREATE TRIGGER responses_added AFTER INSERT ON responses
            BEGIN UPDATE totals SET byte_count = byte_count + new.byte_count; END;
        CREATE TRIGGER responses_removed AFTER DELETE ON responses
            BEGIN UPDATE totals SET byte_count = byte_count - old.byte_count; END;
        PRAGMA user_version = 2;
        """

    /// A response, used at a time in nanoseconds since 1970.
    static func row(usedAt time: Int) -> String {
        """
        INSERT INTO responses VALUES (
            '\(key)', X'782D6B696E6400BEE4EB5389140E7FD958E4809126BD4D3ACF1F573435E0BC2B062995B7796FC80000',
            2154828568050684202, X'012A5186762A7DE71DC800F048895629C1DA41ACAF895629C1DA410000805629C1DA410800000048545450\
        2F312E3006000000782D6B696E6420000000BEE4EB5389140E7FD958E4809126BD4D3ACF1F573435E0BC2B062995B7796FC80000A600000053\
        65727665723A2042617365485454502F302E3620507974686F6E2F332E31312E370D0A446174653A204D6F6E2C203233204E6F762032303236\
        2032303A34333A303620474D540D0A43616368652D436F6E74726F6C3A206D61782D6167653D33313533363030300D0A436F6E74656E742D4C\
        656E6774683A2031390D0A436F6E74656E742D547970653A20746578742F706C61696E0D0A566172793A20582D4B696E640D0A',
            4034350157, 1355922827, 490, \(time), X'73746F7265642062792062643931396361300A');
        """
    }
}

@Suite("Stores of former versions", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FormerStoreTests {
    private let folder: TemporaryFolder
    private var file: URL { folder.file("cache.sqlite") }
    private static let week = 7 * 86_400 * 1_000_000_000

    init() throws {
        folder = try TemporaryFolder()
    }

    private var now: Int { Int(Date().timeIntervalSince1970) * 1_000_000_000 }

    private func connection() throws -> SQLiteConnection {
        try SQLiteConnection(path: file.path, busyMilliseconds: 5000)
    }

    /// Everything that a program of the former version sees.
    private func former() throws -> [String] {
        var rows: [String] = []
        let connection = try connection()
        let columns = [
            "key", "hex(variant)", "tag", "hex(head)", "head_check", "content_check", "byte_count", "used_at",
            "hex(content)",
        ].joined(separator: " || ' ' || ")
        try connection.statement("SELECT \(columns) FROM responses").rows([]) { row in
            rows.append(row.text(0))
        }
        rows.append("\(try connection.number("SELECT byte_count FROM totals"))")
        rows.append("\(try connection.number("PRAGMA user_version"))")
        return rows
    }

    private func response(_ text: String) -> StoredResponse {
        let variant = ResponseVariant(names: [], selection: Data(), credentials: nil)
        return StoredResponse(
            head: StoredHead(
                response: ResponseHead(status: 200, fields: []), requestTime: Date(), responseTime: Date(),
                variant: variant),
            content: Data(text.utf8))
    }

    @Test("a store of commit bd919ca0 is neither read nor changed")
    func beside() throws {
        try connection().run("PRAGMA journal_mode = WAL; \(FormerStore.tables) \(FormerStore.row(usedAt: now))")
        let before = try former()
        #expect(before.suffix(2) == ["490", "2"])
        let store = try SQLiteResponseStore(url: file, maximumByteCount: 64 << 10)
        var count = 0
        let read = try store.response(for: FormerStore.key) { heads in
            count = heads.count
            return heads.isEmpty ? nil : 0
        }
        #expect(read == nil && count == 0)
        for number in 0..<100 { try store.store(response(String(repeating: "a", count: 5000)), for: "k\(number)") }
        try store.store(response("new"), for: FormerStore.key)
        try store.removeResponses(for: FormerStore.key)
        try store.removeAllResponses()
        #expect(try former() == before)
    }

    @Test("a program of commit bd919ca0 that makes its tables in a file leaves what we have stored")
    func besideFormer() throws {
        let store = try SQLiteResponseStore(url: file)
        try store.store(response("new"), for: FormerStore.key)
        #expect(try connection().number("PRAGMA user_version") == 0)  // another number than that program's
        try connection().run("\(FormerStore.tables) \(FormerStore.row(usedAt: now))")
        let read = { (store: SQLiteResponseStore) in
            try store.response(for: FormerStore.key) { $0.isEmpty ? nil : 0 }?.content
        }
        #expect(try read(store) == Data("new".utf8))
        #expect(try read(SQLiteResponseStore(url: file)) == Data("new".utf8))
        #expect(try former().count == 3)
    }

    @Test("responses of a former version that nothing has used for a week give their space back")
    func unused() throws {
        try connection().run("\(FormerStore.tables) \(FormerStore.row(usedAt: now - Self.week - 60_000_000_000))")
        let store = try SQLiteResponseStore(url: file)
        #expect(try former() == ["0", "2"])
        withExtendedLifetime(store) {}
    }
}
