// An answer to a Digest challenge, as a message carries it.

import FireweedTransport

/// A message's answer to a Digest challenge.
struct DigestRound: Sendable {
    /// The value of the `Authorization` field.
    let authorization: String
    let nonce: String
    /// How often the server has declared a nonce stale.
    let staleCount: Int

    /// How often a server may declare a nonce stale that it has just issued.
    static let maximumStaleCount = 2

    /// The fields, with the answer.
    func authorizing(_ fields: FieldBlock) -> FieldBlock {
        FieldBlock(fields.fields + [Field(name: "Authorization", value: authorization)])
    }
}
