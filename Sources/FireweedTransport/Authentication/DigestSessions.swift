// Digest nonces that peers have accepted.

import Synchronization

/// Remembers accepted Digest answers, so that later messages can authenticate without a challenge (RFC 7616 §3.3).
///
/// Each message that uses a nonce increments the nonce count (`nc`, §3.4). If messages arrive out of order, a peer that
/// checks the counts may reject the nonce as stale; its new challenge is then answered.
package final class DigestSessions: Sendable {
    /// The server and the credentials that a nonce is valid for.
    package struct Space: Hashable, Sendable {
        private let server: String
        private let user: String
        private let password: String

        /// Makes the space of a server and credentials; `server` is any name that the caller uses for the server.
        package init(_ server: String, _ credentials: RequestMessage.Credentials) {
            self.server = server
            user = credentials.user
            password = credentials.password
        }
    }

    /// One use of a nonce, with its `nc` and `cnonce`.
    package struct Use: Sendable, Equatable {
        /// The answer to the challenge, with the nonce count.
        package var answer: DigestAnswer
        /// Our `cnonce`, the same for all uses of the nonce: with a `-sess` algorithm, the session key contains the
        /// first `cnonce` (RFC 7616 §3.4.2).
        package let clientNonce: String

        /// Makes the first use of a challenge's nonce.
        package init(_ answer: DigestAnswer, clientNonce: String = DigestAnswer.makeClientNonce()) {
            self.answer = answer
            self.clientNonce = clientNonce
        }
    }

    private let uses = Mutex<[Space: Use]>([:])
    /// The most spaces; adding another evicts an arbitrary one.
    package static let limit = 256

    /// Makes an empty store.
    package init() {}

    /// Whether no answer is remembered.
    package var isEmpty: Bool { uses.withLock { $0.isEmpty } }

    /// Takes the next use of a nonce that was accepted before.
    ///
    /// - Parameters:
    ///   - space: the server and the credentials of the message.
    ///   - isWanted: whether the answer suits the message; called outside of the lock.
    /// - Returns: the next use of the nonce; `nil` if there is no suitable nonce.
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

    /// Remembers an accepted answer.
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

    /// Forgets a refused nonce.
    package func forget(_ use: Use, in space: Space) {
        uses.withLock { uses in
            if uses[space]?.answer.nonce == use.answer.nonce { uses[space] = nil }
        }
    }
}
