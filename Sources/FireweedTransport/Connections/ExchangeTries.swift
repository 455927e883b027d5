// The earlier tries of an exchange's message.

/// Why and how often the message of an exchange was sent again.
struct ExchangeTries {
    /// Whether the message is sent again because of its connection or a refusal, and not to answer a challenge or a
    /// 417.
    var isRepeated = false
    /// The number of the connection on which the message was lost; `nil` for none.
    var lostConnection: Int?
    /// The consecutive refusals of the message by its peers.
    var refusals = RefusalCount()

    /// Whether the next try needs a newer connection than the lost one: idle connections to the same origin are
    /// probably lost too.
    var wantNewConnection: Bool { lostConnection != nil }
}
