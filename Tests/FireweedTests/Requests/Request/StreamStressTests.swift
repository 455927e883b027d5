import Dispatch
import Fireweed
import FixtureServer
import Foundation
import Synchronization
import Testing

/// Everything that can be done to a stream, from several threads at once: every handler is told of the end once, and
/// nothing is left.
@Suite("Streams under stress", .timeLimit(.minutes(TestTimeouts.minutes)))
struct StreamStressTests {
    private final class Counts: Sendable {
        let handlers = Atomic<Int>(0)
        let completions = Atomic<Int>(0)
        let valuesAfterCompletion = Atomic<Int>(0)
    }

    private final class Weak: @unchecked Sendable {
        // SAFETY: written once, before anyone else sees it.
        weak var request: DataStreamRequest?
        init(_ request: DataStreamRequest) { self.request = request }
    }

    @Test("random operations from eight tasks end every handler once, and leak nothing")
    func random() async throws {
        let server = try FixtureServer.start(threads: 4)
        // Text: with this toolchain every byte that is no UTF-8 costs a backtrace while tests run.
        let text = String(repeating: "one line of a long text\n", count: 12_000)
        server.route("/text") { _ in .text(text) }
        let session = Session.isolated()
        let counts = Counts()
        let requests = ProtectedList<Weak>()
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    var random = Generator(state: UInt64(worker) &* 0x9E37_79B9_7F4A_7C15 &+ 1)
                    for _ in 0..<12 { await play(session, server, counts, requests, &random) }
                }
            }
        }
        await eventually("every handler has heard of the end") {
            counts.completions.load(ordering: .acquiring) == counts.handlers.load(ordering: .acquiring)
        }
        #expect(counts.valuesAfterCompletion.load(ordering: .acquiring) == 0)
        await eventually("every request is released") { requests.all.allSatisfy { $0.request == nil } }
    }

    private func play(
        _ session: Session, _ server: FixtureServer, _ counts: Counts, _ requests: ProtectedList<Weak>,
        _ random: inout Generator
    ) async {
        let paths = ["/bytes/0", "/text", "/stream/100", "/stream/20", "/status/404", "/robots.txt"]
        let request = session.streamRequest(
            server.url(paths[random.next(paths.count)]), automaticallyCancelOnStreamError: random.next(2) == 0)
        requests.append(Weak(request))
        let readers = ProtectedList<Task<Void, Never>>()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                var own = Generator(state: random.step())
                group.addTask {
                    for _ in 0..<4 { operate(on: request, counts, readers, &own) }
                }
            }
        }
        // Whatever was done to it: it ends, and so does who reads it.
        request.resume()
        if random.next(4) == 0 { request.cancel() }
        for reader in readers.all { await reader.value }
    }

    private func operate(
        on request: DataStreamRequest, _ counts: Counts, _ readers: ProtectedList<Task<Void, Never>>,
        _ random: inout Generator
    ) {
        let coin = random.next(4) == 0
        switch random.next(11) {
        case 0: request.resume()
        case 1: request.suspend()
        case 2: if coin { request.cancel() }
        case 3: add(counts) { request.responseStream(on: .global(), stream: $0) }
        case 4: add(counts) { request.responseStreamString(on: .global(), stream: $0) }
        case 5: add(counts) { request.responseStreamDecodable(of: Anything.self, on: .global(), stream: $0) }
        case 6:
            readers.append(
                Task {
                    for await _ in request.streamTask().streamingStrings(automaticallyCancelling: coin) { break }
                })
        case 7:
            readers.append(
                Task {
                    var count = 0
                    do {
                        for try await _ in request.lines(automaticallyCancelling: false) {
                            count += 1
                            if coin, count == 5 { break }
                        }
                    } catch {}
                })
        case 8:
            guard let input = request.asInputStream(bufferSize: 512) else { return }
            input.open()
            if coin { input.close() }
        case 9:
            request.onHTTPResponse { _ in await Task.yield() }
            request.validate()
        default:
            let reader = Task {
                for await _ in request.streamTask().streamingData(automaticallyCancelling: false) {}
            }
            reader.cancel()
            readers.append(reader)
        }
    }

    private func add<Value: Sendable, Failure: Error>(
        _ counts: Counts, _ add: (@escaping DataStreamRequest.Handler<Value, Failure>) -> DataStreamRequest
    ) {
        counts.handlers.wrappingAdd(1, ordering: .acquiringAndReleasing)
        let isOver = Flag()
        _ = add { stream in
            if isOver.value.load(ordering: .acquiring) {
                counts.valuesAfterCompletion.wrappingAdd(1, ordering: .relaxed)
            }
            guard stream.completion != nil else { return }
            isOver.value.store(true, ordering: .releasing)
            counts.completions.wrappingAdd(1, ordering: .acquiringAndReleasing)
        }
    }

    private final class Flag: Sendable {
        let value = Atomic<Bool>(false)
    }

    private struct Generator: Sendable {
        var state: UInt64

        mutating func step() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state
        }

        mutating func next(_ bound: Int) -> Int { Int(step() >> 33) % bound }
    }
}
