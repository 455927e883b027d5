import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Glibc
import Synchronization
import Testing

@Suite("Slow, failing and damaged stores", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SlowStoreTests {
    /// Answers with a number that grows with each message; fresh for a minute.
    private func transport(_ count: ProtectedList<String>) -> ScriptedTransport {
        ScriptedTransport { message in
            count.append(message.url)
            let fields = [Field(name: "Cache-Control", value: "max-age=60")]
            return [.head(ResponseHead(status: 200, fields: fields)), .content(Data("\(count.all.count)".utf8))]
        }
    }

    private func get(_ url: String, _ session: Session, method: HTTPMethod = .get) async -> String? {
        await session.request(url, method: method).serializingString().response.value
    }

    @Test("no look waits for a write, and finds what is still being written")
    func stuckWrite() async {
        let gate = DispatchGroup()
        gate.enter()
        let store = MemoryResponseStore(onStore: { _ in gate.wait() }, onRemove: { _ in gate.wait() })
        let asked = ProtectedList<String>()
        let session = Session(
            transport: transport(asked), configuration: .af.ephemeral, options: SessionOptions(responseStore: store))
        #expect(await get("http://a.test/1", session) == "1")
        #expect(await get("http://a.test/2", session) == "2")
        #expect(await get("http://a.test/1", session) == "1" && store.count == 0, "before the store has it")
        #expect(await get("http://a.test/1", session, method: .post) == "3")
        #expect(await get("http://a.test/1", session) == "4", "a removal that waits counts too")
        #expect(await get("http://a.test/1", session) == "4")
        gate.leave()
        await session.flushResponseStore()
        #expect(store.count == 2 && asked.all.count == 4)
        #expect(await get("http://a.test/1", session) == "4")
        #expect(await get("http://a.test/2", session) == "2")
    }

    @Test("what waits for a stuck store is bounded")
    func bounded() async {
        let gate = DispatchGroup()
        gate.enter()
        let store = MemoryResponseStore(onStore: { _ in gate.wait() })
        let content = Data(repeating: 1, count: 900_000)
        let transport = ScriptedTransport { _ in
            let fields = [Field(name: "Cache-Control", value: "max-age=60")]
            return [.head(ResponseHead(status: 200, fields: fields)), .content(content)]
        }
        let session = Session(
            transport: transport, configuration: .af.ephemeral, options: SessionOptions(responseStore: store))
        for number in 0..<40 { _ = await session.request("http://a.test/\(number)").serializingData().response }
        gate.leave()
        await session.flushResponseStore()
        #expect(store.count > 10 && store.count < 20)
    }

    @Test("what could not be removed answers nothing, until it has been removed")
    func failedRemoval() async {
        let fails = Mutex(true)
        let store = MemoryResponseStore(onRemove: { _ in if fails.withLock({ $0 }) { throw ResponseStoreError.busy } })
        let session = Session(
            transport: transport(ProtectedList()), configuration: .af.ephemeral,
            options: SessionOptions(responseStore: store))
        #expect(await get("http://a.test/", session) == "1")
        await session.flushResponseStore()
        #expect(await get("http://a.test/", session, method: .delete) == "2")
        await session.flushResponseStore()
        #expect(await get("http://a.test/", session) == "3", "the store still has the first response")
        await session.flushResponseStore()
        #expect(await get("http://a.test/", session) == "4", "nothing can be stored above it either")
        await session.flushResponseStore()
        fails.withLock { $0 = false }
        #expect(await get("http://a.test/", session) == "5")
        await session.flushResponseStore()
        #expect(await get("http://a.test/", session) == "5")
    }

    @Test(
        "damaged dates of a stored response are a miss", arguments: [Double.infinity, -.infinity, .nan, -1e300, 1e300])
    func damagedDates(seconds: Double) async throws {
        let store = MemoryResponseStore()
        let date = Date(timeIntervalSince1970: seconds)
        let fields = [Field(name: "Cache-Control", value: "max-age=60"), Field(name: "ETag", value: "\"a\"")]
        for (request, response) in [(date, Date()), (Date(), date), (date, date)] {
            let head = StoredHead(
                response: ResponseHead(status: 200, fields: fields), requestTime: request, responseTime: response,
                variant: ResponseVariant(names: [], selection: Data(), credentials: nil))
            try store.store(StoredResponse(head: head, content: Data("damaged".utf8)), for: "http://a.test/")
            let session = Session(
                transport: transport(ProtectedList()), configuration: .af.ephemeral,
                options: SessionOptions(responseStore: store))
            #expect(await get("http://a.test/", session) == "1")
            await session.flushResponseStore()
        }
    }

    @Test("what a URLCache writes to a disk is readable by its owner alone")
    func modes() async throws {
        let folder = try TemporaryFolder()
        let place = folder.file("made/cache")
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 24, diskPath: place.path)
        let session = Session(transport: transport(ProtectedList()), configuration: configuration)
        #expect(await get("http://a.test/", session) == "1")
        await session.flushResponseStore()
        await eventually("the file is written, and closed to others") {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: place.path)) ?? []
            return names.count == 1 && names.allSatisfy { mode(place.appendingPathComponent($0)) == 0o600 }
        }
    }

    @Test("a URLCache's folder is closed to others, unless there is something else in it", arguments: [false, true])
    func folder(hasOther: Bool) throws {
        let folder = try TemporaryFolder()
        let place = folder.file("cache")
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        chmod(place.path, 0o755)
        if hasOther { try Data().write(to: place.appendingPathComponent("other")) }
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 1 << 24, diskPath: place.path)
        let session = Session(transport: transport(ProtectedList()), configuration: configuration)
        #expect(mode(place) == (hasOther ? 0o755 : 0o700), "of \(session)")
    }

    private func mode(_ file: URL) -> mode_t {
        var status = stat()
        return stat(file.path, &status) == 0 ? status.st_mode & 0o777 : 0
    }
}
