import FixtureServer
import Foundation
import Testing

@testable import Fireweed

@Suite("Files that are replaced")
struct FileInstallerTests {
    @Test("one place of the library replaces files, which writes to the disk before it renames")
    func onePlace() throws {
        let root = Repository.root.appending(path: "Sources")
        let replacing = /\brename(?:at2?)?\(|\.atomic\b|replaceItem/
        // A damaged database is moved away, and replaces nothing that anybody needs.
        let exceptions = ["Policies/SQLite/DatabaseSource.swift", "Policies/SQLite/StoreDatabase.swift"]
        var places: Set<String> = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: "Fireweed").path)
        where path.hasSuffix(".swift") && !exceptions.contains(path) {
            let text = try String(contentsOf: root.appending(path: "Fireweed/\(path)"), encoding: .utf8)
            let code = text.split(separator: "\n").filter { !$0.drop { $0 == " " }.hasPrefix("//") }
            if code.contains(where: { $0.contains(replacing) }) { places.insert(path) }
        }
        #expect(places == ["Files/FileInstaller.swift"])
    }
}
