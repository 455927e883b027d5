// The rule for which responses of a stream reach its sequences.

/// Decides whether the async sequences of a stream get the content of the present response, and whether a retry may
/// follow.
///
/// The reader of a sequence cannot tell where a retry begins. So a sequence gets content only of a response that the
/// validators accept, and no retry follows once a sequence got content. Pure: the receiver runs the validators.
struct SequenceGate: Sendable {
    private enum HeadValidation: Sendable {
        /// The head was not judged: there were no sequences when it came.
        case open
        /// The validators run.
        case pending
        /// The results of the validators on the head, in their order, up to the first failure.
        case known([Request.ValidationResult?])
    }

    /// Whether there was a sequence: a stream without one does not judge heads.
    private var hasSequences = false
    /// The attempt whose head came last, until it ends.
    private(set) var attempt: Attempt?
    private var verdict = HeadValidation.open
    /// Whether a sequence got content.
    private(set) var hasDelivered = false

    /// Whether sequences get the content of the present response.
    var isOpen: Bool {
        switch verdict {
        case .open: return true
        case .pending: return false
        case .known(let results):
            if case .failure = results.last ?? nil { return false }
            return true
        }
    }

    /// The head of an attempt came; returns true when it has to be judged.
    mutating func begin(_ attempt: Attempt) -> Bool {
        self.attempt = attempt
        verdict = hasSequences ? .pending : .open
        return hasSequences
    }

    /// A sequence is about to be added; returns the attempt whose head has to be judged for it first.
    ///
    /// Other sequences that are added meanwhile get no content until the head is judged.
    mutating func admit() -> Attempt? {
        defer { hasSequences = true }
        guard !hasSequences, let attempt else { return nil }
        verdict = .pending
        return attempt
    }

    /// The validators have run on the head of an attempt.
    mutating func judged(_ attempt: Attempt, _ results: [Request.ValidationResult?]) {
        if attempt === self.attempt { verdict = .known(results) }
    }

    /// The results for an attempt that has ended.
    mutating func end(_ attempt: Attempt) -> [Request.ValidationResult?] {
        guard attempt === self.attempt else { return [] }
        self.attempt = nil
        guard case .known(let results) = verdict else { return [] }
        return results
    }

    /// A piece is passed to these consumers; returns those that get it.
    mutating func admitted(_ sinks: [any StreamSink]) -> [any StreamSink] {
        guard hasSequences else { return sinks }
        guard isOpen else { return sinks.filter { !$0.isSequence } }
        hasDelivered = hasDelivered || sinks.contains(where: \.isSequence)
        return sinks
    }
}
