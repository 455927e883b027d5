import Fireweed
import FixtureServer
import Foundation
import Synchronization
import Testing

@Suite("Suspending a request that the cache may answer", .timeLimit(.minutes(TestTimeouts.minutes)))
struct CacheSuspensionTests {
    @Test("a resume that overtakes the suspension before it is not lost")
    func resumedWhileSuspended() async throws {
        let request = Mutex<DataRequest?>(nil)
        // The look runs on the cache's queue: the request is suspended when the transfer is made, and resumed before
        // the transfer is told of that.
        let store = MemoryResponseStore(onLook: { _ in _ = request.withLock { $0 }?.suspend() })
        let transport = HookedTransport(
            onSuspend: { _ = request.withLock { $0 }?.resume() },
            answer: { _ in [.head(ResponseHead(status: 200, fields: [])), .content(Data("one".utf8))] })
        let session = Session(
            transport: transport, configuration: .af.ephemeral, startRequestsImmediately: false,
            options: SessionOptions(responseStore: store))
        let made = session.request("http://a.test/")
        request.withLock { $0 = made }
        made.resume()
        let response = await made.serializingString().response
        #expect(response.value == "one" && transport.suspendCount > 0)
        request.withLock { $0 = nil }
    }

    @Test("a request that many threads suspend and resume gets its response, when it was resumed last")
    func manyThreads() async throws {
        let session = Session(
            transport: ScriptedTransport { _ in
                [.head(ResponseHead(status: 200, fields: [])), .content(Data("one".utf8))]
            }, configuration: .af.ephemeral, startRequestsImmediately: false,
            options: SessionOptions(responseStore: MemoryResponseStore()))
        for _ in 0..<300 {
            let request = session.request("http://a.test/")
            DispatchQueue.concurrentPerform(iterations: 4) { number in
                if number.isMultiple(of: 2) { request.resume() } else { request.suspend() }
            }
            request.resume()
            #expect(await request.serializingString().response.value == "one")
        }
    }
}

/// A scripted transport that calls the test when a transfer is suspended, before the transfer is.
private final class HookedTransport: Transport {
    private let inner: ScriptedTransport
    private let onSuspend: @Sendable () -> Void
    private let suspensions = ProtectedList<Int>()

    init(
        onSuspend: @escaping @Sendable () -> Void,
        answer: @escaping @Sendable (RequestMessage) -> [ScriptedTransport.Action]
    ) {
        inner = ScriptedTransport(answer: answer)
        self.onSuspend = onSuspend
    }

    var suspendCount: Int { suspensions.all.count }
    var executor: (any TaskExecutor)? { nil }
    func shutDown() {}

    func makeTransfer(of message: consuming RequestMessage, for consumer: any TransferConsumer) -> any TransferControl {
        HookedControl(inner: inner.makeTransfer(of: message, for: consumer)) { [suspensions, onSuspend] in
            suspensions.append(0)
            onSuspend()
        }
    }
}

private final class HookedControl: TransferControl {
    private let inner: any TransferControl
    private let onSuspend: @Sendable () -> Void

    init(inner: any TransferControl, onSuspend: @escaping @Sendable () -> Void) {
        self.inner = inner
        self.onSuspend = onSuspend
    }

    func cancel() { inner.cancel() }
    func discard() { inner.discard() }

    func start(_ flow: Flow) {
        if flow.level == .suspended { onSuspend() }
        inner.start(flow)
    }

    func setFlow(_ flow: Flow) {
        if flow.level == .suspended { onSuspend() }
        inner.setFlow(flow)
    }
}
