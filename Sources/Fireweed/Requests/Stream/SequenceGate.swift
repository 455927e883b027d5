// The rule that decides which responses of a stream reach its sequences.

/// Decides whether the async sequences of a stream get the content of the current response, and whether a retry may
/// follow.
///
/// The reader of a sequence cannot see where a retry begins. So a sequence only gets the content of a response that the
/// validators accept, and no retry follows once a sequence has got content. Pure: the receiver runs the validators.
struct SequenceGate: Sendable {
    private enum HeadValidation: Sendable {
        /// The head was not validated: there were no sequences when it came.
        case open
        /// The validators run.
        case pending
        /// The results of the validators on the head, in their order, up to the first failure.
        case known([Request.ValidationResult?])
    }

    /// Whether a sequence was ever added: without sequences, heads are not validated before the content.
    private var hasSequences = false
    /// The attempt that received the last head; `nil` once that attempt has ended.
    private(set) var attempt: Attempt?
    private var verdict = HeadValidation.open
    /// Whether a sequence has got content.
    private(set) var hasDelivered = false

    /// Whether sequences get the content of the current response.
    var isOpen: Bool {
        switch verdict {
        case .open: return true
        case .pending: return false
        case .known(let results):
            if case .failure = results.last ?? nil { return false }
            return true
        }
    }

    /// Records that the head of an attempt came; returns true when the head has to be validated.
    mutating func begin(_ attempt: Attempt) -> Bool {
        self.attempt = attempt
        verdict = hasSequences ? .pending : .open
        return hasSequences
    }

    /// Prepares for a new sequence; returns the attempt whose head must be validated first, or `nil`.
    ///
    /// Until the head is validated, no sequence gets content.
    mutating func admit() -> Attempt? {
        defer { hasSequences = true }
        guard !hasSequences, let attempt else { return nil }
        verdict = .pending
        return attempt
    }

    /// Records the results of the validators on the head of an attempt.
    mutating func judged(_ attempt: Attempt, _ results: [Request.ValidationResult?]) {
        if attempt === self.attempt { verdict = .known(results) }
    }

    /// Takes the results of the validators on the head of an attempt that has ended; empty when they have not run.
    mutating func end(_ attempt: Attempt) -> [Request.ValidationResult?] {
        guard attempt === self.attempt else { return [] }
        self.attempt = nil
        guard case .known(let results) = verdict else { return [] }
        return results
    }

    /// Returns the consumers that get the next piece or head, and records whether a sequence is among them.
    mutating func admitted(_ sinks: [any StreamSink]) -> [any StreamSink] {
        guard hasSequences else { return sinks }
        guard isOpen else { return sinks.filter { !$0.isSequence } }
        hasDelivered = hasDelivered || sinks.contains(where: \.isSequence)
        return sinks
    }
}
