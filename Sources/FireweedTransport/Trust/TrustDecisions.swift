// Trust decisions that may wait: off the loop, and one at a time for equal chains of one host.

import Foundation
import Synchronization

/// Runs those trust decisions of one transport that may wait, on threads of their own.
///
/// Neither an event loop nor a thread of Swift's concurrency may block. Handshakes with the same evidence that need a
/// decision at the same time share one call. A decision is forgotten when it is made: a later handshake asks again.
final class TrustDecisions: Sendable {
    /// The subject of a decision.
    ///
    /// The evidence is compared in full, since a decision may depend on any part of it.
    private struct Question: Hashable {
        let host: String
        let chain: [Certificate]
        let stapledStatus: Data?
    }

    /// Gets the decision, and the end of its validity (`ServerTrust.limitVerdict(to:)`).
    typealias Answer = @Sendable (Result<Void, any Error>, _ end: Date?) -> Void

    private let threads = BlockingThreads(name: "fireweed-trust", limit: 16)
    private let waiting = Mutex<[Question: [Answer]]>([:])

    /// Decides about a peer by a rule, and calls `answer` once, on another thread unless none can be started.
    ///
    /// All rules that are passed for one host have to be equal.
    func decide(_ trust: ServerTrust, by rule: PeerRule, answer: @escaping Answer) {
        let question = Question(
            host: trust.host, chain: trust.presentedCertificates, stapledStatus: trust.stapledStatus)
        let isFirst = waiting.withLock { waiting in
            waiting[question, default: []].append(answer)
            return waiting[question]?.count == 1
        }
        guard isFirst else { return }
        threads.run { [self] error in
            // Without a thread, the closure runs at once on the loop's, and calls no evaluator.
            if error == nil { BlockingCall.check("a trust evaluator") }
            let outcome: Result<Void, any Error> = error.map { .failure($0) } ?? Result { try rule.decide(trust) }
            finish(question, outcome, trust.verdictEnd)
        }
    }

    private func finish(_ question: Question, _ outcome: Result<Void, any Error>, _ end: Date?) {
        let answers = waiting.withLock { $0.removeValue(forKey: question) } ?? []
        for answer in answers { answer(outcome, end) }
    }
}
