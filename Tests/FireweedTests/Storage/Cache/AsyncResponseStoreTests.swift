import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@Suite("Stores that are reached over a network", .timeLimit(.minutes(TestTimeouts.minutes)))
struct AsyncResponseStoreTests {
    private let asked = ProtectedList<String>()

    /// Answers with a number that grows with each message; fresh for a minute.
    private func session(
        _ store: any AsyncResponseStore, coalesces: Bool = false, field: String = "max-age=60",
        before: @escaping @Sendable () -> Void = {}
    ) -> Session {
        let transport = ScriptedTransport { [asked] message in
            asked.append(message.url)
            before()
            let fields = [Field(name: "Cache-Control", value: field)]
            return [.head(ResponseHead(status: 200, fields: fields)), .content(Data("\(asked.all.count)".utf8))]
        }
        return Session(
            transport: transport, configuration: .af.ephemeral,
            options: SessionOptions(asyncResponseStore: store, coalescesRequests: coalesces))
    }

    private func get(_ url: String, _ session: Session, method: HTTPMethod = .get) async -> String? {
        await session.request(url, method: method).serializingString().response.value
    }

    @Test("a response answers the session that stored it, and another one")
    func shared() async {
        let store = MemoryAsyncStore()
        let (one, two) = (session(store), session(store))
        #expect(await get("http://a.test/", one) == "1")
        #expect(await get("http://a.test/", one) == "1", "at once, whether the store has it or not")
        await one.flushResponseStore()
        #expect(await get("http://a.test/", two) == "1" && store.count == 1)
    }

    @Test("an unsafe method removes what is stored, for every session (RFC 9111 §4.4)")
    func invalidated() async {
        let store = MemoryAsyncStore()
        let (one, two) = (session(store), session(store))
        #expect(await get("http://a.test/", one) == "1")
        #expect(await get("http://a.test/", one, method: .post) == "2")
        await one.flushResponseStore()
        #expect(store.count == 0)
        #expect(await get("http://a.test/", two) == "3")
    }

    @Test("a response that a removal by another session has overtaken is not stored")
    func overtaken() async {
        let store = MemoryAsyncStore()
        let gate = DispatchGroup()
        gate.enter()
        let (one, two) = (session(store) { gate.wait() }, session(store))
        async let late = get("http://a.test/", one)
        await eventually("it is sent") { asked.all.count == 1 }
        #expect(await get("http://a.test/", two, method: .delete) == "2")
        await two.flushResponseStore()
        gate.leave()
        #expect(await late != nil)
        await one.flushResponseStore()
        #expect(store.count == 0)
    }

    @Test("a look that fails or does not end is a miss", arguments: [true, false])
    func slowLook(fails: Bool) async {
        struct Failure: Error {}
        let store = MemoryAsyncStore(timeout: fails ? TestTimeouts.limit : .seconds(1)) { call in
            guard call == .lookUp else { return }
            if fails { throw Failure() }
            try await Task.sleep(for: .seconds(3600))
        }
        let session = session(store)
        #expect(await get("http://a.test/", session) == "1")
        await session.flushResponseStore()
        #expect(store.count == 1)
        #expect(await get("http://a.test/", session) == "2")
    }

    @Test("a change that fails or does not end hides what the store has", arguments: [true, false])
    func slowChange(fails: Bool) async {
        struct Failure: Error {}
        let works = Mutex(true)
        let store = MemoryAsyncStore(timeout: fails ? TestTimeouts.limit : .seconds(1)) { call in
            guard call == .remove, !works.withLock({ $0 }) else { return }
            if fails { throw Failure() }
            try await Task.sleep(for: .seconds(3600))
        }
        let session = session(store)
        #expect(await get("http://a.test/", session) == "1")
        await session.flushResponseStore()
        works.withLock { $0 = false }
        #expect(await get("http://a.test/", session, method: .delete) == "2")
        await session.flushResponseStore()
        #expect(store.count == 1)
        #expect(await get("http://a.test/", session) == "3", "the store still has the first response")
    }

    @Test("a store that ignores its cancellation holds no request")
    func stuck() async {
        let release = Mutex<[CheckedContinuation<Void, Never>]>([])
        let store = MemoryAsyncStore(timeout: .milliseconds(20)) { _ in
            await withCheckedContinuation { continuation in release.withLock { $0.append(continuation) } }
        }
        let session = session(store)
        for _ in 1...3 { #expect(await get("http://a.test/", session) != nil) }
        await session.flushResponseStore()
        for continuation in release.withLock({ $0 }) { continuation.resume() }
    }

    @Test("fifty sessions that miss fetch once")
    func claimed() async {
        let store = MemoryAsyncStore(fetchTimeout: TestTimeouts.limit)
        let gate = DispatchGroup()
        gate.enter()
        let sessions = (0..<50).map { _ in session(store) { gate.wait() } }
        let tasks = sessions.map { $0.request("http://a.test/").serializingString() }
        await eventually("the others wait") { store.waiterCount == 49 }
        gate.leave()
        for task in tasks { #expect(await task.response.value == "1") }
        #expect(asked.all.count == 1)
        for session in sessions { await session.flushResponseStore() }
        #expect(store.claimCount == 0)
    }

    @Test("two sessions with many requests each fetch once, where they coalesce")
    func claimedAndCoalesced() async {
        let store = MemoryAsyncStore(fetchTimeout: TestTimeouts.limit)
        let sessions = (0..<2).map { _ in session(store, coalesces: true) }
        let tasks = (0..<20).map { sessions[$0 % 2].request("http://a.test/").serializingString() }
        for task in tasks { #expect(await task.response.value == "1") }
        #expect(asked.all.count == 1)
    }

    @Test("a fetch that takes longer than the store's limit is taken over by one waiting session at a time")
    func takenOver() async {
        let store = MemoryAsyncStore(fetchTimeout: .milliseconds(300))
        let gate = DispatchGroup()
        gate.enter()
        let sessions = (0..<50).map { _ in session(store) { gate.wait() } }
        let tasks = sessions.map { $0.request("http://a.test/").serializingString() }
        await eventually("a second session fetches") { asked.all.count > 1 }
        gate.leave()
        for task in tasks { #expect(await task.response.value != nil) }
        #expect(asked.all.count < 10, "one in 300 ms, and not all of them")
    }

    @Test("a response that is not for others lets the other sessions go at once, and later ones too")
    func unshareable() async {
        let store = MemoryAsyncStore(fetchTimeout: TestTimeouts.limit)
        let gate = DispatchGroup()
        gate.enter()
        let sessions = (0..<4).map { _ in session(store, field: "no-store") { gate.wait() } }
        let tasks = sessions.map { $0.request("http://a.test/").serializingString() }
        await eventually("the others wait") { store.waiterCount == 3 }
        gate.leave()
        for task in tasks { #expect(await task.response.value != nil) }
        #expect(asked.all.count == 4)
        #expect(await get("http://a.test/", sessions[0]) == "5" && store.claimCount == 0)
    }

    @Test("a claim ends with its request, whatever becomes of that")
    func cancelledClaim() async {
        let store = MemoryAsyncStore(fetchTimeout: TestTimeouts.limit)
        let transport = ScriptedTransport { [asked] message in
            asked.append(message.url)
            return [.stall]
        }
        let first = Session(
            transport: transport, configuration: .af.ephemeral, options: SessionOptions(asyncResponseStore: store))
        let request = first.request("http://a.test/")
        let task = request.serializingString()
        await eventually("it is sent") { asked.all.count == 1 }
        let second = session(store)
        async let other = get("http://a.test/", second)
        await eventually("the other waits") { store.waiterCount == 1 }
        request.cancel()
        #expect(await task.response.error?.isExplicitlyCancelledError == true)
        #expect(await other == "2")
    }

    @Test("a request waits for another session within the store's limit, and is sent then")
    func boundedWait() async {
        let store = MemoryAsyncStore(fetchTimeout: .milliseconds(20))
        let transport = ScriptedTransport { [asked] message in
            asked.append(message.url)
            return [.stall]
        }
        let first = Session(
            transport: transport, configuration: .af.ephemeral, options: SessionOptions(asyncResponseStore: store))
        let request = first.request("http://a.test/")
        let task = request.serializingString()
        await eventually("it is sent") { asked.all.count == 1 }
        #expect(await get("http://a.test/", session(store)) == "2")
        request.cancel()
        _ = await task.response
        await eventually("the claim has ended") { store.claimCount == 0 && store.waiterCount == 0 }
    }
}
