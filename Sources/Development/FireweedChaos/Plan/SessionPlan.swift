// The options of a round's session.

import FireweedTesting

/// The settings of one session; after the session was dropped or invalidated, requests go to a new session with the
/// same plan.
struct SessionPlan: Sendable {
    enum Route: Sendable {
        /// HTTP/1.1 in clear text.
        case clear
        /// HTTP/1.1 over TLS.
        case secure
        /// HTTP/2 over TLS.
        case multiplexed
        /// `http` URLs of a host that asks for TLS (RFC 6797), over HTTP/2.
        case strict
    }

    enum Cache: Sendable {
        case none, memory, file
    }

    var route: Route
    var cache: Cache
    var startsImmediately: Bool
    var isEager: Bool
    var hasRequestQueue: Bool
    var eventLoops: Int
    var connectionLimit: Int
    /// The maximum number of bytes of a response's content; `nil` for no limit.
    var contentLimit: Int?
    var interception: Interception?
    /// The behaviour of the redirect handler; `nil` for no handler, which follows redirects.
    var redirecting: Redirecting?
    /// The behaviour of the cached-response handler; `nil` for no handler.
    var storing: Answering?

    /// The behaviour of the authenticator when it refreshes a token.
    var refreshing: Refreshing
    /// Whether the session has a circuit breaker and a concurrency limit, whose settings let every message pass.
    var isGuarded: Bool
    /// Whether the session hedges messages that are safe to send twice.
    var isHedged: Bool

    struct Refreshing: Sendable {
        var answering: Answering
        var fails: Bool
    }

    struct Redirecting: Sendable {
        var answering: Answering
        var follows: Bool
    }

    static func random(_ random: inout SeededGenerator) -> SessionPlan {
        SessionPlan(
            route: random.choice(.clear, .clear, .secure, .multiplexed, .multiplexed, .strict),
            cache: random.choice(.none, .none, .memory, .file), startsImmediately: random.happens(80),
            isEager: random.happens(25), hasRequestQueue: random.happens(30), eventLoops: random.choice(1, 1, 2),
            connectionLimit: random.choice(1, 2, 6, 6), contentLimit: random.maybe(10) { _ in 20_000 },
            interception: random.maybe(30) { .random(&$0) },
            redirecting: random.maybe(30) { Redirecting(answering: .random(&$0), follows: $0.happens(80)) },
            storing: random.maybe(30) { .random(&$0) },
            refreshing: Refreshing(answering: .random(&random), fails: random.happens(30)),
            isGuarded: random.happens(50), isHedged: random.happens(30))
    }
}
