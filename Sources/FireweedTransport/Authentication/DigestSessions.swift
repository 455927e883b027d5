// Nonces of Digest that peers have accepted.

import Synchronization

/// Remembers accepted answers to Digest challenges, so that later messages need no challenge (RFC 7616 §3.3).
///
/// Each message that uses a nonce increments its count (`nc`, §3.4). A peer that checks the counts may call a nonce
/// stale when messages arrive in another order; the new challenge is then answered.
package final class DigestSessions: Sendable {
    /// The server and the credentials that a nonce is valid for.
    package struct Space: Hashable, Sendable {
        private let server: String
        private let user: String
        private let password: String

        /// Makes the space of a server and of credentials; `server` is any name that the caller has for the server.
        package init(_ server: String, _ credentials: RequestMessage.Credentials) {
            self.server = server
            user = credentials.user
            password = credentials.password
        }
    }

    /// A nonce with the count of one use, and its `cnonce`.
    package struct Use: Sendable, Equatable {
        /// The answer to the challenge, with the count.
        package var answer: DigestAnswer
        /// Our `cnonce`, the same for all uses of the nonce: with a `-sess` algorithm, the session key contains the
        /// first one (RFC 7616 §3.4.2).
        package let clientNonce: String

        /// The first use of a challenge's nonce.
        package init(_ answer: DigestAnswer, clientNonce: String = DigestAnswer.makeClientNonce()) {
            self.answer = answer
            self.clientNonce = clientNonce
        }
    }

    private let uses = Mutex<[Space: Use]>([:])
    /// The most spaces; a further one evicts another.
    package static let limit = 256

    /// Makes an empty memory.
    package init() {}

    /// Whether there is nothing to reuse.
    package var isEmpty: Bool { uses.withLock { $0.isEmpty } }

    /// Uses a nonce that was accepted before.
    ///
    /// - Parameters:
    ///   - space: the server and the credentials of the message.
    ///   - isWanted: whether the answer fits the message; called outside of the lock.
    /// - Returns: the next use of the nonce; `nil` where there is none.
    package func next(in space: Space, where isWanted: (DigestAnswer) -> Bool = { _ in true }) -> Use? {
        guard let known = uses.withLock({ $0[space] }), isWanted(known.answer) else { return nil }
        return uses.withLock { uses in
            guard uses[space]?.answer.nonce == known.answer.nonce, let count = uses[space]?.answer.useCount,
                count < .max
            else { return nil }
            uses[space]?.answer.useCount = count + 1
            return uses[space]
        }
    }

    /// Remembers an answer that was accepted.
    package func accept(_ use: Use, in space: Space) {
        uses.withLock { uses in
            if let known = uses[space], known.answer.nonce == use.answer.nonce {
                uses[space]?.answer.useCount = max(known.answer.useCount, use.answer.useCount)
                return
            }
            if uses.count >= Self.limit, uses[space] == nil { uses.remove(at: uses.startIndex) }
            uses[space] = use
        }
    }

    /// Forgets a nonce that was refused.
    package func forget(_ use: Use, in space: Space) {
        uses.withLock { uses in
            if uses[space]?.answer.nonce == use.answer.nonce { uses[space] = nil }
        }
    }
}
