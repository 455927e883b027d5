// Fetching revocation statuses while a handshake waits for them.

import Dispatch
package import Foundation
import Synchronization

/// Plain HTTP exchanges for callers that may block their thread, on a loop of their own.
///
/// A caller that blocks one of the process's own loops by mistake is so never waited for.
package enum StatusFetch {
    /// Why nothing was fetched, in a few words.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Sends a request and waits for the content of its response; at most `maximumByteCount` bytes, and no redirects.
    ///
    /// `content` makes it a POST. Throws `Failure` when no response of 200 has come by the deadline.
    package static func fetch(
        _ url: URL, posting content: (data: Data, type: String)? = nil, deadline: ContinuousClock.Instant
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
        case .failure(let failure): throw Failure(description: "\(url.absoluteString): \(failure)")
        }
    }

    /// The largest lists of public authorities have some megabytes.
    private static let maximumByteCount = 32 * 1024 * 1024

    private static let transport: EngineTransport = {
        var options = TransportOptions()
        options.maximumBodyByteCount = maximumByteCount
        return EngineTransport(settings: PoolSettings(options: options), parts: EngineParts()) {
            [EventLoop(name: "fireweed-status")].compactMap { $0 }
        }
    }()
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
