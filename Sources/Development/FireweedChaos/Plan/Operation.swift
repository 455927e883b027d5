// One request of a round, and everything that is done to it.

/// A pure value, made from the seed before anything runs.
struct Operation: Sendable {
    enum Kind: Sendable {
        case data
        case stream
        case upload(Content)
        case download(Place)
        case webSocket
        case events
    }

    /// Where the content of an upload comes from.
    enum Content: Sendable {
        case data, file, stream, form
    }

    /// Where a download goes.
    enum Place: Sendable {
        /// A temporary file.
        case temporary
        case destination
        /// A partial file of the caller's, from which a second download continues.
        case resumable
    }

    /// How the outcome is asked for.
    enum Reading: Sendable {
        case handlers(Int)
        case awaiting
        case both

        var handlerCount: Int {
            if case .handlers(let count) = self { count } else if case .both = self { 1 } else { 0 }
        }
        var isAwaited: Bool { if case .handlers = self { false } else { true } }
    }

    /// The answer to the head of a response.
    struct HeadDecision: Sendable {
        var answering: Answering
        var allows: Bool
    }

    let number: Int
    /// The index of its session in the round.
    let session: Int
    /// Microseconds after the start of the round.
    let start: Int
    let kind: Kind
    let target: PlannedTarget
    let reading: Reading
    var validates = false
    /// A short idle time-out; `nil` leaves a long one.
    var idleTimeoutMilliseconds: Int?
    /// The time for the request as a whole; `nil` for none.
    var deadlineMilliseconds: Int?
    /// Whether the resource asks for a token of the session's `AuthenticationInterceptor`.
    var usesTokens = false
    var interception: Interception?
    var headDecision: HeadDecision?
    /// A stream is abandoned after one element more than this.
    var elementLimit: Int?
    /// Whether the right credentials are given.
    var isAuthenticated = false
    var meddlings: [Meddling] = []
}

extension Operation: CustomStringConvertible {
    var description: String {
        var words = ["operation \(number) of session \(session), \(kind) of \(target), read by \(reading)"]
        words.append("at \(start) µs")
        if validates { words.append("validated") }
        if isAuthenticated { words.append("authenticated") }
        if let idleTimeoutMilliseconds { words.append("time-out \(idleTimeoutMilliseconds) ms") }
        if let deadlineMilliseconds { words.append("deadline \(deadlineMilliseconds) ms") }
        if usesTokens { words.append("with tokens") }
        if let elementLimit { words.append("given up after \(elementLimit) elements") }
        if let headDecision { words.append(headDecision.allows ? "head allowed" : "head refused") }
        if let headDecision { words.append("\(headDecision.answering)") }
        if let interception { words.append("\(interception)") }
        if !meddlings.isEmpty { words.append("meddlings: " + meddlings.map(\.description).joined(separator: "; ")) }
        return words.joined(separator: ", ")
    }
}
