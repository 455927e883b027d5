import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Rules that have one place in the sources")
struct OnePlaceTests {
    private struct Line: CustomStringConvertible {
        let file: String
        let text: String
        var description: String { "\(file): \(text)" }
    }

    /// The lines of code of all library targets.
    private static let lines: [Line] = {
        let sources = Repository.root.appending(path: "Sources")
        let targets = ["Fireweed", "FireweedTransport", "FireweedFleet", "FireweedTesting", "Command/FireweedCLI"]
        return targets.flatMap { target -> [Line] in
            let folder = sources.appendingPathComponent(target)
            let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
            return paths.filter { $0.hasSuffix(".swift") }.flatMap { path -> [Line] in
                let text = (try? String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)) ?? ""
                return text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.hasPrefix("//") }
                    .map { Line(file: path, text: String($0)) }
            }
        }
    }()

    @Test("fields with credentials are listed in one file")
    func credentialFields() {
        #expect(Self.lines.count > 10_000, "the sources were found")
        let names = TransportOptions.standardCredentialFieldNames.filter { $0.contains("-") }
            .map { "\"\($0.lowercased())\"" }
        let others = Self.lines.filter { line in
            let text = line.text.lowercased()
            let isList =
                text.contains("\"authorization\", \"cookie\"") || text.contains("\"cookie\", \"authorization\"")
            return !line.file.hasSuffix("CredentialFields.swift") && (isList || names.contains { text.contains($0) })
        }
        #expect(others.isEmpty, "ask CredentialFields: \(others)")
    }

    @Test("keys of stored responses are made by one function, of the target and where it is sent")
    func targets() {
        // A `URLCache` may have responses of other code, which have only URLs.
        let places = ["Storage/Cache/CacheKey.swift", "Storage/Cache/URLCacheStore.swift"]
        let others = Self.lines.filter { $0.text.contains("CacheKey.text(") && !places.contains($0.file) }
        #expect(others.isEmpty, "make a CacheKey: \(others)")
    }
}
