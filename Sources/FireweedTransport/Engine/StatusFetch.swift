// Fetching revocation statuses while a handshake waits for them.

import Dispatch
package import Foundation
import Synchronization

/// Plain HTTP exchanges for callers that may block their thread, by the way of a session's requests.
///
/// Proxy, address guard, routes and the rest of the session's options for connections hold for them: a status that can
/// be had by another way alone is not fetched. They run on a loop of their own, so that a caller that blocks one of the
/// other loops by mistake is never waited for.
package final class StatusFetch: StatusSource {
    /// Why nothing was fetched, in a few words.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Fetches for trusts of no session, as a session with the default options does.
    package static let byDefault = StatusFetch(TransportOptions())

    private let options: TransportOptions
    /// Made for the first fetch: most sessions never need one.
    private let made = Mutex<EngineTransport?>(nil)

    /// Fetches by the way of a session with these options; no connection is opened yet.
    init(_ options: TransportOptions) {
        self.options = options.connecting
    }

    /// Sends a request and waits for the content of its response; at most `maximumByteCount` bytes, and no redirects.
    ///
    /// `content` makes it a POST. Throws `Failure` when no response of 200 has come by the deadline.
    package func fetch(
        _ url: URL, posting content: (data: Data, type: String)?, deadline: ContinuousClock.Instant
    ) throws(Failure) -> Data {
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { throw Failure(description: "\(url.absoluteString): there was no time left") }
        let fields = content.map { [Field(name: "Content-Type", value: $0.type)] } ?? []
        let message = RequestMessage(
            url: url.absoluteString, method: content == nil ? "GET" : "POST", fields: FieldBlock(fields),
            body: content.map { .data($0.data) } ?? .none, idleTimeout: 0)
        let collector = Collector()
        let control = transport.makeTransfer(of: message, for: collector)
        control.start(.undecided)
        guard collector.waitForEnd(left) else {
            control.cancel()
            throw Failure(description: "\(url.absoluteString): no answer in time")
        }
        switch collector.outcome {
        case .success(let data): return data
        case .failure(let failure): throw Failure(description: "\(url.absoluteString): \(failure.plainText)")
        }
    }

    /// The largest lists of public authorities have some megabytes.
    private static let maximumByteCount = 32 * 1024 * 1024

    private var transport: EngineTransport {
        made.withLock { made in
            if let made { return made }
            var options = options
            options.maximumBodyByteCount = Self.maximumByteCount
            let new = EngineTransport(settings: PoolSettings(options: options), parts: EngineParts()) {
                [Self.sharedLoop()].compactMap { $0 }
            }
            made = new
            return new
        }
    }

    /// The loop of all fetches in the process.
    private static let loop = Mutex<EventLoop?>(nil)

    /// The loop; `nil` when the process is out of descriptors.
    private static func sharedLoop() -> EventLoop? {
        loop.withLock { loop in
            // A process that was forked makes a loop of its own.
            if loop?.isFromParentProcess != false { loop = EventLoop(name: "fireweed-status") }
            return loop
        }
    }
}

extension TransportOptions {
    /// The options that say where connections go, without those that say who speaks on them, and how.
    fileprivate var connecting: TransportOptions {
        var options = TransportOptions()
        options.proxy = proxy
        options.configuredProxies = configuredProxies
        options.unixSocketPath = unixSocketPath
        options.certificateAuthorities = certificateAuthorities
        options.addressGuard = addressGuard
        options.addressOverrides = addressOverrides
        options.ipVersion = ipVersion
        options.networkInterface = networkInterface
        options.connectionRoutes = connectionRoutes
        return options
    }
}

/// Collects one response.
private final class Collector: TransferConsumer {
    private struct State {
        var status = 0
        var content = Data()
        var failure: TransferFailure?
    }

    private let state = Mutex(State())
    private let end = DispatchGroup()

    init() {
        end.enter()
    }

    func waitForEnd(_ duration: Duration) -> Bool {
        end.wait(timeout: .now() + .nanoseconds(Int(min(duration.nanoseconds, 3_600_000_000_000)))) == .success
    }

    var outcome: Result<Data, StatusFetch.Failure> {
        state.withLock { state in
            if let failure = state.failure {
                return .failure(.init(description: failure.urlError(failingURL: "").localizedDescription))
            }
            return state.status == 200
                ? .success(state.content) : .failure(.init(description: "status \(state.status)"))
        }
    }

    func transferDidReceive(_ head: ResponseHead) -> Flow {
        state.withLock { $0.status = head.status }
        return .undecided
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        let bytes = content.bytes
        state.withLock { $0.content.append(contentsOf: bytes) }
        return .undecided
    }

    func transferDidFinish(_ end: consuming TransferEnd) {
        let failure = end.failure
        state.withLock { $0.failure = failure }
        self.end.leave()
    }
}
