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

    @Test("connections, OpenSSL, databases, locks and heads of HTTP/2 have one place each (Scripts/check-places)")
    func script() async throws {
        let folder = try TemporaryFolder()
        let script = Repository.root.appending(path: "Scripts/check-places").path
        let output = try await Program.run(script, [], in: folder.url)
        #expect(output.code == 0, "\(output.errors)")
    }

    @Test("Scripts/check-places names a second place, and one that has lost what it is there for")
    func scriptFails() async throws {
        let folder = try TemporaryFolder()
        let sources = folder.file("Sources")
        let scripts = folder.file("Scripts")
        for created in [sources, scripts] {
            try FileManager.default.createDirectory(at: created, withIntermediateDirectories: true)
        }
        let script = scripts.appending(path: "check-places")
        try FileManager.default.copyItem(at: Repository.root.appending(path: "Scripts/check-places"), to: script)
        for target in ["Fireweed", "FireweedTransport", "FireweedFleet", "FireweedTesting", "Command"] {
            try FileManager.default.copyItem(
                at: Repository.root.appending(path: "Sources/\(target)"), to: sources.appending(path: target))
        }
        let second = sources.appending(path: "Fireweed/Second.swift")
        let rules = [
            "connect(descriptor, $0, $1)", "connect(descriptor, address, length)", "OPENSSL_init_ssl(0, nil)",
            "sqlite3_open_v2(path, &handle, 0, nil)",
            "flock(descriptor, LOCK_EX)", "var list = HTTP2FieldList()", "nghttp2_submit_request2(session)",
        ]
        for code in rules {
            try "// \(code)\nlet text = \"\(code)\"\n".write(to: second, atomically: true, encoding: .utf8)
            #expect(try await Program.run(script.path, [], in: folder.url).code == 0, "a comment, or a text: \(code)")
            try "let first = 1\n\(code)\n".write(to: second, atomically: true, encoding: .utf8)
            let output = try await Program.run(script.path, [], in: folder.url)
            #expect(output.code == 1 && output.errors.hasPrefix("Sources/Fireweed/Second.swift:2: a second place."))
        }
        try "".write(to: second, atomically: true, encoding: .utf8)
        let lock = sources.appending(path: "Fireweed/Files/FileLock.swift")
        try "".write(to: lock, atomically: true, encoding: .utf8)
        let output = try await Program.run(script.path, [], in: folder.url)
        #expect(output.code == 1 && output.errors.contains("Sources/Fireweed/Files/FileLock.swift: no longer has"))
    }
}
