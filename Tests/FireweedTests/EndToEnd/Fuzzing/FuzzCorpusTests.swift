import FixtureServer
import Foundation
import FuzzTargets
import Testing

/// The inputs of a target that the repository keeps.
private struct KeptInputs {
    private static let folder = Repository.root.appending(path: "Fuzz")
    let files: [URL]

    /// Those in a folder of `Fuzz/`; none when it is not there.
    init(_ kind: String, of target: FuzzTarget) {
        let place = Self.folder.appendingPathComponent(kind).appendingPathComponent(target.name)
        let found = try? FileManager.default.contentsOfDirectory(at: place, includingPropertiesForKeys: nil)
        files = (found ?? []).sorted { $0.lastPathComponent < $1.lastPathComponent }
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: folder.appendingPathComponent(path).path)
    }

    static func folders(in kind: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent(kind).path)
            .filter { !$0.hasPrefix(".") }.sorted()
    }
}

@Suite("Fuzz targets", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FuzzCorpusTests {
    @Test("what has to hold for every input holds for those that fuzzers have found", arguments: FuzzTarget.all)
    func corpus(target: FuzzTarget) throws {
        let inputs = KeptInputs("Corpus", of: target).files
        #expect(!inputs.isEmpty)
        for file in inputs { try check(target, file) }
    }

    @Test("what failed once does not fail again", arguments: FuzzTarget.all)
    func crashes(target: FuzzTarget) throws {
        for file in KeptInputs("Crashes", of: target).files { try check(target, file) }
    }

    @Test("nothing at all, and one byte of each kind, is no trouble", arguments: FuzzTarget.all)
    func smallest(target: FuzzTarget) throws {
        try target.check([])
        for byte in UInt8.min...UInt8.max { try target.check([byte]) }
    }

    @Test("every target has a dictionary, and no folder is without its target")
    func folders() throws {
        let names = FuzzTarget.all.map(\.name).sorted()
        #expect(Set(names).count == names.count)
        for name in names { #expect(KeptInputs.exists("Dictionaries/\(name).dict"), "\(name)") }
        #expect(try KeptInputs.folders(in: "Corpus") == names)
        #expect(try KeptInputs.folders(in: "Dictionaries") == names.map { "\($0).dict" })
        #expect(Set(names).isSuperset(of: try KeptInputs.folders(in: "Crashes")))
    }

    @Test("the kept corpora are small")
    func size() throws {
        for target in FuzzTarget.all {
            let inputs = KeptInputs("Corpus", of: target).files
            #expect(inputs.count <= 220, "\(target.name)")
            let byteCount = try inputs.reduce(0) { $0 + (try Data(contentsOf: $1)).count }
            #expect(byteCount <= 256 * 1024, "\(target.name)")
        }
    }

    private func check(_ target: FuzzTarget, _ file: URL) throws {
        do {
            try target.check(Array(try Data(contentsOf: file)))
        } catch {
            Issue.record("\(target.name), \(file.lastPathComponent): \(error)")
        }
    }
}
