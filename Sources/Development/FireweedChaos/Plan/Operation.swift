// One planned request of a round, and all actions on the request.

/// A planned request, made from the seed before anything runs.
struct Operation: Sendable {
    enum Kind: Sendable {
        case data
        case stream
        case upload(Content)
        case download(Place)
        case webSocket
        case events
    }

    /// The source of an upload's content.
    enum Content: Sendable {
        case data, file, stream, form
    }

    /// The destination of a download.
    enum Place: Sendable {
        /// A temporary file.
        case temporary
        case destination
        /// A partial file that the caller names, from which a second download continues.
        case resumable
    }

    /// How the outcome is read: by a number of handlers, by awaiting, or both.
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
    /// The index of the operation's session in the round.
    let session: Int
    /// Microseconds after the start of the round.
    let start: Int
    let kind: Kind
    let target: PlannedTarget
    let reading: Reading
    var validates = false
    /// A short idle time-out; `nil` keeps the session's time-out of 120 seconds.
    var idleTimeoutMilliseconds: Int?
    /// The time for the request as a whole; `nil` for none.
    var deadlineMilliseconds: Int?
    /// Whether the resource demands a token, which the session's `AuthenticationInterceptor` adds.
    var usesTokens = false
    var interception: Interception?
    var headDecision: HeadDecision?
    /// The number of elements after which the next one ends the reading of a stream; `nil` for all.
    var elementLimit: Int?
    /// Whether the request has the correct credentials for a guarded resource.
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
