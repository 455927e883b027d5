import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@Suite("URLProtocol control", .timeLimit(.minutes(TestTimeouts.minutes)))
struct MockControlTests {
    /// Waits for a protocol that has not answered.
    private static func silent() throws -> (url: URL, script: MockProtocol.Script, started: ProtectedList<Mock>) {
        let started = ProtectedList<Mock>()
        let (url, script) = try MockProtocol.host { started.append($0) }
        return (url, script, started)
    }

    @Test("a protocol is stopped once at its end, and released")
    func stopsAtEnd() async throws {
        let (url, script) = try MockProtocol.host { $0.answer("done") }
        let session = Session.mocked()
        #expect(await session.request(url).serializingString().response.value == "done")
        await eventually("it is released") { script.events.all.count == 4 }
        #expect(script.events.all == ["asked", "started", "stopped", "released"])
    }

    @Test("cancelling stops the protocol once; what it reports after that is ignored")
    func cancel() async throws {
        let session = Session.mocked()
        let (url, script, started) = try Self.silent()
        let request = session.request(url)
        let task = request.serializingData()
        request.resume()
        await eventually("it is started") { !started.all.isEmpty }
        request.cancel()
        #expect(await task.response.error?.isExplicitlyCancelledError == true)
        await eventually("it is stopped") { script.events.all.contains("stopped") }
        for mock in started.all { mock.answer("late") }
        request.cancel()
        #expect(script.events.all == ["asked", "started", "stopped"])
    }

    @Test("of two answers the first one counts, whatever threads they come from")
    func twice() async throws {
        let (url, script) = try MockProtocol.host { mock in
            mock.answer("one")
            mock.answer("two")
            DispatchQueue.concurrentPerform(iterations: 4) { _ in
                mock.fail(URLError(.unknown))
                mock.answer("three")
            }
        }
        let session = Session.mocked()
        for _ in 0..<20 {
            #expect(await session.request(url).serializingString().response.value == "one")
        }
        await eventually("all are stopped") { script.events.all.count { $0 == "released" } == 20 }
        #expect(script.events.all.count { $0 == "stopped" } == 20)
    }

    @Test("reports from many threads come whole")
    func threads() async throws {
        let (url, _) = try MockProtocol.host { mock in
            mock.respond()
            DispatchQueue.global().async {
                DispatchQueue.concurrentPerform(iterations: 100) { _ in mock.load("0123456789") }
                mock.finish()
            }
        }
        let session = Session.mocked()
        #expect(await session.request(url).serializingData().response.value?.count == 1000)
    }

    @Test("a suspended request starts no protocol, and a started one waits with its answer")
    func suspension() async throws {
        let session = Session.mocked(startRequestsImmediately: false)
        let (url, script, started) = try Self.silent()
        let request = session.request(url)
        let ended = ProtectedList<String?>()
        request.responseString { ended.append($0.value) }
        request.suspend()
        #expect(script.events.all.isEmpty)
        request.resume()
        await eventually("it is started") { !started.all.isEmpty }
        request.suspend()
        for mock in started.all { mock.answer("held") }
        await eventually("it is stopped, since it has reported its end") { script.events.all.contains("stopped") }
        await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
        #expect(ended.all.isEmpty)
        request.resume()
        await eventually("the answer comes") { ended.all == ["held"] }
    }

    @Test("a consumer that is full holds the answer back, and gets all of it")
    func backPressure() async throws {
        let bytes = Data((0..<4_000_000).map { UInt8(truncatingIfNeeded: $0) })
        let (url, _) = try MockProtocol.host { mock in
            mock.respond()
            mock.load(bytes)
            mock.finish()
        }
        let session = Session.mocked()
        nonisolated(unsafe) let stream = try #require(session.streamRequest(url).asInputStream(bufferSize: 1000))
        let read = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                stream.open()
                var all = Data()
                var buffer = [UInt8](repeating: 0, count: 700)
                while true {
                    let count = stream.read(&buffer, maxLength: buffer.count)
                    guard count > 0 else { break }
                    all.append(contentsOf: buffer[..<count])
                }
                continuation.resume(returning: all)
            }
        }
        #expect(read == bytes)
    }

    @Test("a protocol that never answers times out, and is stopped")
    func timeout() async throws {
        let (url, script, _) = try Self.silent()
        let session = Session.mocked { $0.timeoutIntervalForRequest = 0.05 }
        let error = await session.request(url).serializingData().response.error
        #expect(error?.urlErrorCode == .timedOut)
        await eventually("it is stopped") { script.events.all.contains("stopped") }
        let limited = Session.mocked { $0.timeoutIntervalForResource = 0.05 }
        #expect(await limited.request(url).serializingData().response.error?.urlErrorCode == .timedOut)
    }

    @Test("a session that goes away stops its protocols")
    func deinitialized() async throws {
        let (url, script, started) = try Self.silent()
        var session: Session? = Session.mocked()
        let ended = ProtectedList<AFError?>()
        session?.request(url).response { ended.append($0.error) }
        await eventually("it is started") { !started.all.isEmpty }
        session = nil
        await eventually("the request ends") { ended.all.first??.isSessionDeinitializedError == true }
        await eventually("it is stopped") { script.events.all.contains("stopped") }
    }

    @Test("retries start a new protocol each")
    func retry() async throws {
        let count = Atomic<Int>(0)
        let (url, script) = try MockProtocol.host { mock in
            let number = count.wrappingAdd(1, ordering: .relaxed).newValue
            if number == 1 { return mock.fail(URLError(.timedOut)) }
            mock.answer("try \(number)", status: number == 2 ? 503 : 200)
        }
        let session = Session.mocked(interceptor: RetryPolicy(exponentialBackoffScale: 0.001))
        let request = session.request(url).validate()
        #expect(await request.serializingString().response.value == "try 3")
        #expect(request.retryCount == 2 && script.requests.all.count == 3)
    }

    @Test("a WebSocket is not offered to protocols")
    func webSocket() async throws {
        let (url, script, _) = try Self.silent()
        var address = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false))
        address.scheme = "ws"
        let session = Session.mocked()
        let request = session.webSocketRequest(to: try #require(address.url))
        for await event in request.webSocketTask().streamingMessageEvents() {
            if case .completed(let completion) = event.kind { #expect(completion.error != nil) }
        }
        #expect(script.events.all.isEmpty)
    }
}
