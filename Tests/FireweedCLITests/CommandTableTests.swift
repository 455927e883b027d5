import FixtureServer
import Foundation
import Testing

@testable import FireweedCLI

@Suite("The table of Documentation/Command.md")
struct CommandTableTests {
    /// One row: what it is, what each command has, and the test of ours.
    private struct Row {
        let feature: String
        let ours: String
        let test: String
    }

    private func rows() throws -> [Row] {
        let text = try String(contentsOf: Repository.root.appending(path: "Documentation/Command.md"), encoding: .utf8)
        return text.split(separator: "\n").filter { $0.hasPrefix("| ") }.compactMap { line in
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 8, cells[1] != "Feature" else { return nil }
            return Row(feature: cells[1], ours: cells[5], test: cells[6])
        }
    }

    @Test("every row that says yes for fireweed has a test of that name, and every other row has none")
    func tests() throws {
        let sources = try sources()
        let rows = try rows()
        #expect(rows.count > 60)
        for row in rows {
            #expect(row.ours.hasPrefix("yes") || row.ours.hasPrefix("no"), "\(row.feature)")
            #expect(row.ours.hasPrefix("yes") == !row.test.isEmpty, "\(row.feature)")
            #expect(row.test.isEmpty || sources.contains("\"\(row.test)\""), "\(row.feature): \(row.test)")
        }
    }

    @Test("every option that the table names is there, and every option is in the table")
    func options() throws {
        let text = try rows().map(\.ours).joined(separator: " ")
        let named = Set(text.matches(of: /`(--?[A-Za-z0-9.-]+)/).map { String($0.1) })
        let known = Set(Option.all.flatMap(\.names))
        #expect(named.subtracting(known).isEmpty, "\(named.subtracting(known))")
        let missing = Option.all.filter { named.isDisjoint(with: $0.names) }.map(\.heading)
        #expect(missing.isEmpty, "\(missing)")
    }

    @Test("every option of the table is used by a test")
    func usedOptions() throws {
        let words = Set(try sources().matches(of: /--?[A-Za-z0-9][A-Za-z0-9.-]*/).map { String($0.output) })
        let unused = Option.all.filter { words.isDisjoint(with: $0.names) }.map(\.heading)
        #expect(unused.isEmpty, "\(unused)")
    }

    private func sources() throws -> String {
        let folder = Repository.root.appendingPathComponent("Tests/FireweedCLITests")
        return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "swift" }.map { try String(contentsOf: $0, encoding: .utf8) }.joined()
    }
}
