// One message and its answer, as the links of a chain see them.

import Dispatch
import FireweedTransport
import Foundation

/// A message on its way out, and what the links remember until its answer comes.
struct Exchange: Sendable {
    /// The message as the user, a redirect or an answer to a challenge made it.
    private(set) var hop: Hop
    /// The text of the message's URL.
    private(set) var urlText: String
    /// The fields to send: the message's own, and those that links added.
    var fields: FieldBlock
    /// Whether a link has to see the head of the answer, whatever the head says.
    var awaitsHead = false
    /// The last challenge that was answered with the message's credentials.
    var answeredChallenge: ResponseHead?
    /// What the response cache has to know when the answer comes; `nil` when the answer does not concern it.
    var cacheQuery: CacheQuery?
    /// Stores the response's content while it comes.
    var recorder: ResponseRecorder?
    /// Whether nothing is sent: only a stored response was wanted, and none is suitable.
    var isUnsent = false
    /// What is done off the transport's thread, before another message is sent and before handlers are told of the end.
    var chores: [Chore] = []

    /// Work that may end later; the group is entered until it has.
    typealias Chore = @Sendable (DispatchGroup) -> Void

    init(_ hop: Hop) {
        self.hop = hop
        urlText = hop.url.absoluteString
        fields = hop.fields
        answeredChallenge = hop.challenge
    }

    /// Changes the message; fields that links added are kept.
    mutating func changeMessage(_ change: (inout Hop) -> Void) {
        let (url, own) = (hop.url, hop.fields)
        change(&hop)
        if hop.url != url { urlText = hop.url.absoluteString }
        if hop.fields !== own, fields === own { fields = hop.fields }
    }
}
