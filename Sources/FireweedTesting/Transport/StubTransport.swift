// A transport that answers from stubs.

public import Fireweed
import Foundation
import Synchronization

/// Answers the requests of one session from stubs, without a server.
///
/// `Session.stubbed` makes a session on such a transport. Code that makes its own sessions can use the transport
/// directly:
///
/// ```swift
/// let transport = StubTransport { Stub.get("/users/{id}").reply(.json(["name": "Ada"])) }
/// let session = Session(transport: transport, interceptor: interceptor)
/// ```
///
/// Requests go through every step as with a server: adapters, cookies, cache, redirects, validation, retries, metrics.
/// Uploads are read whole into memory, and report progress. Each transport answers on a serial queue of its own, so
/// that tests which run at the same time share nothing. There is no TLS: a `ServerTrustManager` is accepted but never
/// used.
public final class StubTransport: Transport {
    /// The stubs, and the received requests.
    public let stubs: Stubs
    /// The clock of delays and time-outs, and of the session.
    public let clock: any SessionClock
    private let context: StubContext

    /// Makes a transport.
    ///
    /// - Parameters:
    ///   - clock: the clock of delays and time-outs; a ``TestClock`` advances when the test says so.
    ///   - stubs: the stubs; the first one that matches answers.
    public convenience init(
        clock: any SessionClock = SystemClock(), @StubsBuilder _ stubs: () -> [Stub]
    ) {
        self.init(stubs: Stubs(stubs()), clock: clock)
    }

    /// Makes a transport that passes requests that no stub matches to `fallback`.
    init(stubs: Stubs, clock: any SessionClock, fallback: (any Transport)? = nil) {
        self.stubs = stubs
        self.clock = clock
        context = StubContext(answering: stubs, clock: clock, fallback: fallback)
    }

    deinit {
        shutDown()
    }

    /// WebSockets; and `serverTrust`, so that sessions with pinned certificates can be stubbed.
    public var abilities: TransportAbilities { [.webSockets, .serverTrust] }

    /// Makes a transfer that a stub answers.
    public func makeTransfer(of message: RequestMessage, for consumer: any TransferConsumer)
        -> any TransferControl
    {
        StubTransfer(message: message, consumer: consumer, context: context)
    }

    /// Ends every transfer as cancelled, including transfers that start later.
    public func shutDown() { context.shutDown() }

    /// `nil`: stubs answer on a dispatch queue.
    public var executor: (any TaskExecutor)? { nil }
}
