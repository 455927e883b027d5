import FireweedTransport
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@testable import Fireweed

@Suite("Late decisions of links", .timeLimit(.minutes(TestTimeouts.minutes)))
struct LateDecisionTests {
    /// A class that is asked about every request, and takes none.
    private final class Interrupter: URLProtocol {
        static let whenAsked = Mutex<(@Sendable () -> Void)?>(nil)

        override class func canInit(with request: URLRequest) -> Bool {
            whenAsked.withLock { $0.take() }?()
            return false
        }
    }

    /// Counts the transfers that it is asked for; one that is never started would keep its attempt.
    private final class CountingTransport: Transport {
        let transferCount = Mutex(0)
        private let scripted = ScriptedTransport { _ in [.head(ResponseHead(status: 200, fields: []))] }
        let executor: (any TaskExecutor)? = nil

        func makeTransfer(
            of message: consuming RequestMessage, for consumer: any TransferConsumer
        ) -> any TransferControl {
            transferCount.withLock { $0 += 1 }
            return scripted.makeTransfer(of: message, for: consumer)
        }

        func shutDown() { scripted.shutDown() }
    }

    @Test("an attempt that has ended makes no transfer")
    func betweenEndAndEffects() async throws {
        let transport = CountingTransport()
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.protocolClasses = [Interrupter.self]
        configuration.urlCache = nil  // no other link waits
        let session = Session(
            transport: transport, configuration: configuration, startRequestsImmediately: false)
        let request = session.request("http://a.test/")
        let (endings, noteEnding) = AsyncStream<AttemptState.Effects>.makeStream()
        Interrupter.whenAsked.withLock {
            $0 = {
                // The walk waits for the class's answer. The end is decided, and its effects are still to be performed.
                guard let attempt = request.lastAttempt else { return }
                noteEnding.yield(attempt.state.withLock { $0.handle(.cancel) })
            }
        }
        async let response = request.serializingData().response
        request.resume()
        let ending = try #require(await endings.first { _ in true })
        // The walk continues on this thread.
        await withCheckedContinuation { done in ProtocolThread.shared.perform { done.resume() } }
        let attempt = try #require(request.lastAttempt)
        attempt.perform(ending)
        #expect(await response.error != nil)
        #expect(transport.transferCount.withLock { $0 } == 0)
        #expect(attempt.state.withLock { $0.control == nil })
    }
}
