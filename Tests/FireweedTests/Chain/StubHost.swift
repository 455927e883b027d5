// A context for tests of single links.

import FireweedTransport
import Foundation
import FoundationNetworking

@testable import Fireweed

/// Stands for an attempt: says what the test says.
final class StubHost: LinkContext {
    let deadlineNanoseconds: UInt64? = nil
    let idleTimeout: TimeInterval = 60
    let cachePolicy: URLRequest.CachePolicy
    let handlesCookies: Bool
    let mainDocument: URL? = nil
    let redirectHandler: (any RedirectHandler)?
    let sessionTask: URLSessionTask = URLSession.shared.dataTask(
        with: URL(fileURLWithPath: "/"))
    let httpURLResponse = HTTPURLResponse(
        url: URL(fileURLWithPath: "/"), statusCode: 302, httpVersion: nil, headerFields: nil)
    let storingPolicy = StoringPolicy()
    let announced = ProtectedList<String>()

    init(
        cachePolicy: URLRequest.CachePolicy = .useProtocolCachePolicy, handlesCookies: Bool = true,
        redirectHandler: (any RedirectHandler)? = nil
    ) {
        self.cachePolicy = cachePolicy
        self.handlesCookies = handlesCookies
        self.redirectHandler = redirectHandler
    }

    func announceRedirect(to next: OutgoingMessage) { announced.append("redirect to \(next.url)") }
    func announceChallenge(_ head: ResponseHead, to message: OutgoingMessage) {
        announced.append("challenge \(head.status)")
    }
    func announceWaitForRoute() { announced.append("waits") }
    func delegateAnswer(to head: ResponseHead, of message: OutgoingMessage) -> DelegateQuestion? { nil }
    func offerToProtocols(_ exchange: ChainContext, completion: @escaping @Sendable (LocalAnswer?) -> Void) {
        completion(nil)
    }
    func refresh(_ message: OutgoingMessage, for key: CacheKey, in cache: ResponseCache) {
        announced.append("refresh of \(message.url)")
    }
}

extension OutgoingMessage {
    init(_ url: String, _ fields: [String: String] = [:], method: String = "GET") {
        self.init(
            url: URL(string: url) ?? URL(fileURLWithPath: "/"), method: method,
            fields: FieldBlock(fields.map { Field(name: $0.key, value: $0.value) }), body: .none)
    }
}

extension ResponseHead {
    init(_ status: Int, _ fields: [String: String] = [:]) {
        self.init(status: status, fields: fields.map { Field(name: $0.key, value: $0.value) })
    }
}

extension Decision {
    /// The decision in a word or two; one that comes later is waited for.
    func summary(_ exchange: ChainContext) async -> String {
        switch self {
        case .pass: return "pass"
        case .answer(let answer): return "answer from \(answer.source)"
        case .again(let message): return "again \(message.method) \(message.url)"
        case .fail(let failure): return "fail \(failure.urlErrorCode?.rawValue ?? 0)"
        case .deferred: return await settled(exchange).summary
        }
    }

    /// The decision in a word or two, and the exchange that it leaves; one that comes later is waited for.
    func settled(_ exchange: ChainContext) async -> (summary: String, exchange: ChainContext) {
        let (later, continuation) = AsyncStream<(Decision, ChainContext)>.makeStream()
        let resume: DeferredDecision.Resume = { decide in
            var exchange = exchange
            let decision = decide(&exchange)
            continuation.yield((decision, exchange))
        }
        var stop: @Sendable () -> Void = {}
        switch self {
        case .deferred(let deferred): stop = deferred.begin(resume)
        default: return (await summary(exchange), exchange)
        }
        defer { stop() }
        for await (decision, exchange) in later { return ("later " + (await decision.summary(exchange)), exchange) }
        return ("never", exchange)
    }
}

extension Recovery? {
    /// The replacement of a failed exchange in a word or two; "pass" for none.
    var summary: String {
        switch self {
        case nil: "pass"
        case .answer(let answer): "answer from \(answer.source)"
        case .again(let message): "again \(message.method) \(message.url)"
        }
    }
}

extension TransferFailure {
    fileprivate var urlErrorCode: URLError.Code? { if case .exchange(let code, _, _) = self { code } else { nil } }
}
