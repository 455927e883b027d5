// One message and its answer, as the links of a chain see them.

import Dispatch
import FireweedTransport
import Foundation

/// A message on its way out, and what the links remember until its answer comes.
struct Exchange: Sendable {
    private var box: MessageBox
    /// The message as the user, a redirect or an answer to a challenge made it.
    ///
    /// A copy of all of it; the members below copy only what they give.
    var message: OutgoingMessage { box.message }
    var url: URL { box.message.url }
    var urlText: String { box.message.wire.url }
    var method: String { box.message.wire.method }
    var webSocket: WebSocketOffer? { box.message.wire.webSocket }
    var cacheUse: CacheUse { box.message.cacheUse }
    /// The message as the transport takes it, without what links added.
    var wire: RequestMessage { box.message.wire }
    var digest: DigestRound? { box.message.digest }
    var transportCredentials: RequestMessage.Credentials? { box.message.transportCredentials }
    var schemeViolation: TransferFailure? { box.message.schemeViolation }
    /// The fields to send: the message's own, and those that links added.
    var fields: FieldBlock
    /// Whether a link has to see the head of the answer, whatever the head says.
    var awaitsHead = false
    /// The last challenge that was answered with the message's credentials.
    var answeredChallenge: ResponseHead?
    /// What the response cache has to know when the answer comes; `nil` when the answer does not concern it.
    var cacheNote: CacheNote?
    /// Stores the response's content while it comes.
    var recorder: ResponseRecorder?
    /// Whether nothing is sent: only a stored response was wanted, and none is suitable.
    var isUnsent = false
    /// What is done off the transport's thread, before another message is sent and before handlers are told of the end.
    var chores: [Chore] = []

    /// Work that may end later; the group is entered until it has.
    typealias Chore = @Sendable (DispatchGroup) -> Void

    init(_ message: OutgoingMessage) {
        box = MessageBox(message)
        fields = message.fields
        answeredChallenge = message.challenge
    }

    /// Changes the message; fields that links added are kept.
    mutating func changeMessage(_ change: (inout OutgoingMessage) -> Void) {
        let own = message.fields
        var changed = message
        change(&changed)
        box = MessageBox(changed)
        if message.fields !== own, fields === own { fields = message.fields }
    }
}

/// A message in memory of its own: an exchange is copied often, and its message is large.
private final class MessageBox: Sendable {
    let message: OutgoingMessage

    init(_ message: OutgoingMessage) {
        self.message = message
    }
}
