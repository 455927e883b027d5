// Trust decisions that may wait: on separate threads, and once for handshakes with equal evidence.

import Foundation
import Synchronization

/// Runs the trust decisions of one transport that may wait, on separate threads.
///
/// Neither an event loop nor a thread of Swift's concurrency may block. Concurrent handshakes with the same evidence
/// share one decision. Decisions are not cached: a later handshake starts another.
final class TrustDecisions: Sendable {
    /// The evidence that a decision is about.
    ///
    /// The evidence is compared in full, because a decision may depend on any part of it.
    private struct Question: Hashable {
        let host: String
        let chain: [Certificate]
        let stapledStatus: Data?
    }

    /// Receives the decision, and the end of its validity (`ServerTrust.limitVerdict(to:)`).
    typealias Answer = @Sendable (Result<Void, any Error>, _ end: Date?) -> Void

    private let threads = BlockingThreads(name: "fireweed-trust", limit: 16)
    private let waiting = Mutex<[Question: [Answer]]>([:])

    /// Runs a rule for a peer, and calls `answer` once: on another thread, or on this thread if no thread can be
    /// started.
    ///
    /// All rules that are passed for the same host must be equal.
    func decide(_ trust: ServerTrust, by rule: PeerRule, answer: @escaping Answer) {
        let question = Question(
            host: trust.host, chain: trust.presentedCertificates, stapledStatus: trust.stapledStatus)
        let isFirst = waiting.withLock { waiting in
            waiting[question, default: []].append(answer)
            return waiting[question]?.count == 1
        }
        guard isFirst else { return }
        threads.run { [self] error in
            // If no thread can be started, this closure runs on the loop's thread with an error, and calls no
            // evaluator.
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
