import FireweedTesting
import FixtureServer
import Foundation
import Glibc
import Testing

@testable import Fireweed

@Suite("Responses in SQLite", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SQLiteResponseStoreTests {
    private let folder: TemporaryFolder
    private var file: URL { folder.file("cache.sqlite") }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func response(
        _ content: Data, names: [String] = [], selection: String = "", credentials: Data? = nil, userInfo: Data? = nil
    ) -> StoredResponse {
        let head = ResponseHead(
            status: 203, version: "HTTP/2", fields: [Field(name: "X-A", value: "ä"), Field(name: "x-b", value: "")])
        let variant = ResponseVariant(names: names, selection: Data(selection.utf8), credentials: credentials)
        let date = Date(timeIntervalSince1970: 1_762_000_000.25)
        return StoredResponse(
            head: StoredHead(
                response: head, requestTime: date, responseTime: date + 1, variant: variant, userInfo: userInfo),
            content: content)
    }

    private func first(_ store: SQLiteResponseStore, _ key: String) throws -> StoredResponse? {
        try store.response(for: key) { $0.isEmpty ? nil : 0 }
    }

    @Test(
        "what is read is what was stored, after a reopening too",
        arguments: [0, 1, 1000, 4096, 65_535, 65_536, 65_537, 1_000_000])
    func roundTrip(size: Int) throws {
        let content = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 * 31) })
        let stored = response(
            content, names: ["accept", "x-kind"], selection: "digest", credentials: Data([0, 255]), userInfo: Data([1]))
        try SQLiteResponseStore(url: file).store(stored, for: "http://a/")
        let read = try #require(try first(SQLiteResponseStore(url: file), "http://a/"))
        #expect(read.content == content && read.head.identifier == stored.head.identifier)
        #expect(read.head.response.fields == stored.head.response.fields)
        #expect(read.head.response.status == 203 && read.head.response.version == "HTTP/2")
        #expect(read.head.requestTime == stored.head.requestTime && read.head.responseTime == stored.head.responseTime)
        #expect(read.head.variant == stored.head.variant && read.head.userInfo == Data([1]))
    }

    @Test("a store keeps variants apart, and one response for each")
    func variants() throws {
        let store = try SQLiteResponseStore(url: file)
        try store.store(response(Data("a".utf8), names: ["x"], selection: "1"), for: "k")
        try store.store(response(Data("b".utf8), names: ["x"], selection: "2"), for: "k")
        try store.store(response(Data("c".utf8), names: ["x"], selection: "2"), for: "k")
        var count = 0
        let read = try store.response(for: "k") { heads in
            count = heads.count
            return heads.firstIndex { $0.variant.selection == Data("1".utf8) }
        }
        #expect(count == 2 && read?.content == Data("a".utf8))
        try store.removeResponses(for: "k")
        #expect(try first(store, "k") == nil && store.byteCount == 0)
    }

    @Test("a URL has so many responses, and the ones that were used longest ago go")
    func manyVariants() throws {
        let store = try SQLiteResponseStore(url: file)
        func find(_ number: Int) throws -> StoredResponse? {
            try store.response(for: "k") { heads in
                #expect(heads.count <= SQLiteResponseStore.variantLimit)
                return heads.firstIndex { $0.variant.selection == Data("\(number)".utf8) }
            }
        }
        for number in 0..<SQLiteResponseStore.variantLimit + 10 {
            try store.store(response(Data("\(number)".utf8), names: ["x"], selection: "\(number)"), for: "k")
            #expect(try find(0) != nil, "used just now")
        }
        #expect(try find(1) == nil && find(10) == nil)
        #expect(try find(11)?.content == Data("11".utf8))
        try store.store(response(Data("a".utf8)), for: "other")
        #expect(try first(store, "other") != nil)
    }

    @Test("another head stays with its content, and goes nowhere when that has been replaced")
    func updateHead() throws {
        let store = try SQLiteResponseStore(url: file)
        let old = response(Data("old".utf8))
        try store.store(old, for: "k")
        let head = StoredHead(
            replacing: old.head, response: ResponseHead(status: 200, fields: [Field(name: "X", value: "new")]))
        try store.updateHead(head, for: "k")
        #expect(try first(store, "k")?.head.response.value(of: "X") == "new")
        #expect(try first(store, "k")?.content == Data("old".utf8))
        try store.store(response(Data("newer".utf8)), for: "k")
        try store.updateHead(head, for: "k")
        #expect(try first(store, "k")?.head.response.value(of: "X") == nil)
    }

    @Test("a response that is replaced while it is read is read whole", arguments: [1000, 100_000])
    func replacedMeanwhile(size: Int) throws {
        let (reading, writing) = (try SQLiteResponseStore(url: file), try SQLiteResponseStore(url: file))
        let old = Data(repeating: 1, count: size)
        try writing.store(response(old), for: "k")
        let group = DispatchGroup()
        let read = try reading.response(for: "k") { heads in
            DispatchQueue.global().async(group: group) {
                try? writing.store(response(Data(repeating: 2, count: size)), for: "k")
            }
            return heads.indices.first
        }
        #expect(read?.content == old)
        group.wait()
        #expect(try first(reading, "k")?.content == Data(repeating: 2, count: size))
    }

    @Test("what was not used for the longest time goes first")
    func eviction() throws {
        let store = try SQLiteResponseStore(url: file, maximumByteCount: 64 << 10)
        let content = Data(repeating: 1, count: 7000)
        for number in 0..<8 { try store.store(response(content), for: "k\(number)") }
        #expect(try first(store, "k0") != nil)  // the one that is used stays
        try store.store(response(content), for: "k8")
        #expect(try (0...8).filter { try first(store, "k\($0)") == nil } == [1])
        #expect(try store.byteCount <= store.maximumByteCount)
    }

    @Test("uses that another store of the same file made count")
    func sharedUses() throws {
        let store = try SQLiteResponseStore(url: file, maximumByteCount: 64 << 10)
        let content = Data(repeating: 1, count: 7000)
        for number in 0..<8 { try store.store(response(content), for: "k\(number)") }
        _ = try first(SQLiteResponseStore(url: file), "k0")  // written when that store goes
        try store.store(response(content), for: "k8")
        #expect(try first(store, "k0") != nil && first(store, "k1") == nil)
    }

    @Test("the file stays close to the bound, whatever is stored")
    func bounded() throws {
        let bound = 1 << 20
        let store = try SQLiteResponseStore(url: file, maximumByteCount: bound)
        for number in 0..<500 {
            let size = [10, 900, 3000, 20_000, 100_000][number % 5] + number
            try store.store(response(Data(repeating: 7, count: size)), for: "http://host/\(number)")
        }
        #expect(try store.byteCount <= bound && store.byteCount > bound / 2)
        let size = try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
        #expect(size < bound * 5 / 4)
    }

    @Test("what is too large for the bound is not stored, and ends what was")
    func tooLarge() throws {
        let store = try SQLiteResponseStore(url: file, maximumByteCount: 64 << 10)
        try store.store(response(Data("a".utf8)), for: "k")
        try store.store(response(Data(count: store.maximumEntryByteCount)), for: "k")
        #expect(try first(store, "k") == nil)
    }

    @Test("the file and its lock are their owner's alone, also when the file was more open")
    func mode() throws {
        #expect(FileManager.default.createFile(atPath: file.path, contents: nil))
        chmod(file.path, 0o644)
        let store = try SQLiteResponseStore(url: file)
        try store.store(response(Data("a".utf8)), for: "k")
        for name in ["cache.sqlite", "cache.sqlite-lock"] {
            var status = stat()
            #expect(stat(folder.file(name).path, &status) == 0 && status.st_mode & 0o777 == 0o600, "\(name)")
        }
    }

    @Test("a file that is no database is replaced by an empty one", arguments: [1, 100, 4096, 100_000])
    func noDatabase(size: Int) throws {
        try Data((0..<size).map { UInt8(truncatingIfNeeded: $0 * 131 + 7) }).write(to: file)
        let store = try SQLiteResponseStore(url: file)
        #expect(try first(store, "k") == nil)
        try store.store(response(Data("a".utf8)), for: "k")
        #expect(try first(store, "k")?.content == Data("a".utf8))
    }

    @Test("a database that is damaged in any of its pages is no crash, and works again")
    func damaged() throws {
        for page in 0..<24 {
            let place = folder.file("damaged\(page).sqlite")
            do {
                let store = try SQLiteResponseStore(url: place)
                for number in 0..<20 { try store.store(response(Data(repeating: 3, count: 3000)), for: "k\(number)") }
            }
            try damage(place, page: page)
            let store = try SQLiteResponseStore(url: place)
            for number in 0..<20 {
                let read = try? first(store, "k\(number)")
                if let read { #expect(read.content.count == 3000) }
                try? store.store(response(Data("new".utf8)), for: "k\(number)")
            }
            try store.removeAllResponses()
            try store.store(response(Data("new".utf8)), for: "k")
            #expect(try first(store, "k")?.content == Data("new".utf8), "page \(page)")
        }
    }

    private func damage(_ place: URL, page: Int) throws {
        let handle = try FileHandle(forUpdating: place)
        guard try handle.seekToEnd() > UInt64(page * 4096) else { return }
        try handle.seek(toOffset: UInt64(page * 4096))
        try handle.write(contentsOf: Data(repeating: 0xA5, count: 2048))
        try handle.close()
    }

    @Test("folders that are missing are made, for their owner alone")
    func folders() throws {
        let place = folder.file("a/b/cache.sqlite")
        try SQLiteResponseStore(url: place).store(response(Data("a".utf8)), for: "k")
        for name in ["a", "a/b"] {
            var status = stat()
            #expect(stat(folder.file(name).path, &status) == 0 && status.st_mode & 0o777 == 0o700, "\(name)")
        }
    }

    @Test("bits that flip anywhere in the file are a miss: no crash, no other key's response, no other content")
    func flippedBits() throws {
        let count = 60
        let content = { (number: Int) in
            Data("\(number) ".utf8) + Data(repeating: UInt8(number), count: number * 97 % 3000)
        }
        do {
            let store = try SQLiteResponseStore(url: file)
            for number in 0..<count { try store.store(response(content(number)), for: "http://host/\(number)") }
        }
        let sound = try Data(contentsOf: file)
        var random = SeededGenerator(seed: 13)
        for round in 0..<150 {
            var bytes = sound
            // Behind SQLite's own header, which it checks itself.
            for _ in 0..<40 {
                bytes[Int.random(in: 100..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            let place = folder.file("flipped\(round).sqlite")
            try bytes.write(to: place)
            guard let store = try? SQLiteResponseStore(url: place) else { continue }
            for number in 0..<count {
                guard let read = try? first(store, "http://host/\(number)") else { continue }
                #expect(read.content == content(number), "round \(round)")
                #expect(read.head.responseTime == Date(timeIntervalSince1970: 1_762_000_001.25), "round \(round)")
                #expect(read.head.response.fields.first?.value == "ä", "round \(round)")
            }
        }
    }

    @Test("a damaged file is set aside, for its owner alone")
    func setAside() throws {
        let junk = Data(repeating: 0xA5, count: 10_000)
        try junk.write(to: file)
        _ = try SQLiteResponseStore(url: file)
        let aside = folder.file("cache.sqlite-damaged")
        #expect(try Data(contentsOf: aside) == junk)
        var status = stat()
        #expect(stat(aside.path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test("files that are no databases are all kept, and a damaged database takes the place of an older one")
    func keptAside() throws {
        for text in ["a document", "another document"] {
            try Data(text.utf8).write(to: file)
            _ = try SQLiteResponseStore(url: file)
        }
        for _ in 0..<3 {
            try SQLiteResponseStore(url: file).store(response(Data(count: 9000)), for: "k")
            try damage(file, page: 1)
            _ = try SQLiteResponseStore(url: file)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter {
            $0.contains("damaged")
        }
        #expect(Set(names) == ["cache.sqlite-damaged", "cache.sqlite-damaged-2", "cache.sqlite-damaged-3"])
        #expect(try String(contentsOf: folder.file("cache.sqlite-damaged"), encoding: .utf8) == "a document")
        #expect(try String(contentsOf: folder.file("cache.sqlite-damaged-2"), encoding: .utf8) == "another document")
    }

    @Test("a folder that cannot be made is an error with the path")
    func noFolder() throws {
        try Data().write(to: folder.file("none"))
        let place = folder.file("none/cache.sqlite")
        #expect { try SQLiteResponseStore(url: place) } throws: { error in
            guard case .cannotOpen(let path, _) = error as? ResponseStoreError else { return false }
            return path == place.path
        }
    }
}
