// An answer to a Digest challenge, as a message carries it.

import FireweedTransport

/// A message's answer to a Digest challenge.
struct DigestRound: Sendable {
    /// The value of the `Authorization` field.
    let authorization: String
    /// The nonce that is answered.
    let use: DigestSessions.Use
    /// How often the server has declared a nonce stale.
    var staleCount = 0
    /// Whether the nonce is an earlier message's, so that a challenge refuses the nonce and not the credentials.
    var isReused = false

    var nonce: String { use.answer.nonce }

    /// How often a server may declare a nonce stale that it has just issued.
    static let maximumStaleCount = 2

    /// The fields, with the answer.
    func authorizing(_ fields: FieldBlock) -> FieldBlock {
        FieldBlock(fields, adding: [Field(name: "Authorization", value: authorization)])
    }
}
