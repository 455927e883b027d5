// Fetching revocation statuses while a handshake waits for them.

import Dispatch
package import Foundation
import Synchronization

/// Blocking HTTP exchanges that fetch revocation statuses, with the connection options of a session.
///
/// The session's proxy, address guard, routes and other connection options apply: a status that these options make
/// unreachable is not fetched. All fetches of the process share one event loop that nothing else uses, since a caller
/// may block another loop by mistake.
package final class StatusFetch: StatusSource {
    /// The reason why nothing was fetched.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Fetches with the default options, for trust evaluations without a session.
    package static let byDefault = StatusFetch(TransportOptions())

    private let options: TransportOptions
    /// The transport, made for the first fetch, since most sessions need no fetch.
    private let made = Mutex<EngineTransport?>(nil)

    /// Makes a fetcher with the connection options of a session; no connection is opened yet.
    init(_ options: TransportOptions) {
        self.options = options.connecting
    }

    /// Sends a request and waits for the content of its response: at most `maximumByteCount` bytes, without following
    /// redirects.
    ///
    /// With `content`, the method is POST. Throws `Failure` unless a complete response with status 200 comes by the
    /// deadline.
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

    /// The limit of a response: the largest revocation lists of public authorities have some megabytes.
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

    /// The loop for all fetches of the process.
    private static let loop = Mutex<EventLoop?>(nil)

    /// The shared loop, made if necessary; `nil` if the process is out of descriptors.
    private static func sharedLoop() -> EventLoop? {
        loop.withLock { loop in
            // A child of fork(2) makes another loop: the thread of its parent's loop does not exist in the child.
            if loop?.isFromParentProcess != false { loop = EventLoop(name: "fireweed-status") }
            return loop
        }
    }
}

extension TransportOptions {
    /// Only the options for reaching a host: proxies, socket path, addresses, interface, routes, and the authorities
    /// that verify HTTPS peers; no client identity, and no settings of TLS or HTTP.
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
