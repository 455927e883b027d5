// Answers to Digest challenges.

import FireweedTransport

/// A message's answer to a Digest challenge.
struct DigestRound: Sendable {
    /// The value of the `Authorization` field.
    let authorization: String
    /// The nonce of the challenge, with the count of this use.
    let use: DigestSessions.Use
    /// How often the server has declared a nonce stale.
    var staleCount = 0
    /// Whether an earlier message used the nonce before: a new challenge then refuses the nonce, not the credentials.
    var isReused = false

    var nonce: String { use.answer.nonce }

    /// How often a server may declare its newest nonce stale.
    static let maximumStaleCount = 2

    /// The fields with `Authorization` added.
    func authorizing(_ fields: FieldBlock) -> FieldBlock {
        FieldBlock(fields, adding: [Field(name: "Authorization", value: authorization)])
    }
}
