// One message and the notes of the links about it.

import Dispatch
import FireweedTransport
import Foundation

/// A message that is being sent, and the notes of the links until its response comes.
struct ChainContext: Sendable {
    private var box: MessageBox
    /// The message from the user, from a redirect or from an answer to a challenge, without the fields that links
    /// added.
    ///
    /// The getter copies the whole message; the members below copy only their part.
    var message: OutgoingMessage { box.message }
    var url: URL { box.message.url }
    var urlText: String { box.message.wire.url }
    var method: String { box.message.wire.method }
    var webSocket: WebSocketOffer? { box.message.wire.webSocket }
    var cacheUse: CacheUse { box.message.cacheUse }
    /// The message for the transport, without the fields that links added.
    var wire: RequestMessage { box.message.wire }
    var digest: DigestRound? { box.message.digest }
    var mayReuseDigest: Bool { box.message.mayReuseDigest }
    var transportCredentials: RequestMessage.Credentials? { box.message.transportCredentials }
    var schemeViolation: TransferFailure? { box.message.schemeViolation }
    /// The fields to send: the fields of the message, and the fields that links added.
    var fields: FieldBlock
    /// The cache's note for the response; `nil` when the response does not concern the cache.
    var cacheNote: CacheNote?
    /// Whether a link has to see the head of the response, even if the head does not match the link's `interest`.
    var awaitsHead = false
    /// Whether no message is sent: the request accepts only a stored response and none is suitable; or the request
    /// waited for an equal request, which failed or was not answered in time.
    var isUnsent = false
    /// The other notes of the links.
    private var notes = RareMembers<LinkNotes>()

    /// Work that enters the dispatch group, and leaves the group when the work is done.
    typealias DeferredWork = @Sendable (DispatchGroup) -> Void

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

// MARK: - The notes of the links

extension ChainContext {
    /// The last challenge that was answered with the message's credentials.
    var answeredChallenge: ResponseHead? {
        get { notes.read { $0.answeredChallenge } ?? nil }
        set { notes.change(isUsual: newValue == nil, from: LinkNotes()) { $0.answeredChallenge = newValue } }
    }

    /// The digest of the client certificate under which the cache looks up and stores the response.
    var clientCertificate: Data? {
        get { notes.read { $0.clientCertificate } ?? nil }
        set { notes.change(isUsual: newValue == nil, from: LinkNotes()) { $0.clientCertificate = newValue } }
    }

    /// Records the response's content while it is received.
    var recorder: ResponseRecorder? {
        get { notes.read { $0.recorder } ?? nil }
        set { notes.change(isUsual: newValue == nil, from: LinkNotes()) { $0.recorder = newValue } }
    }

    /// Notifies the requests that wait for the response; `nil` when no request can wait for it.
    var lead: FetchLeader? {
        get { notes.read { $0.lead } ?? nil }
        set { notes.change(isUsual: newValue == nil, from: LinkNotes()) { $0.lead = newValue } }
    }

    /// The wait for an equal request's response, in this process or another; `nil` before a wait begins.
    var fetchWait: FetchWait? {
        get { notes.read { $0.fetchWait } ?? nil }
        set { notes.change(isUsual: newValue == nil, from: LinkNotes()) { $0.fetchWait = newValue } }
    }

    /// The failure of the origin for an equal request; a stale response may be used instead.
    var originFailure: OriginFailure? {
        get { notes.read { $0.originFailure } ?? nil }
        set { notes.change(isUsual: newValue == nil, from: LinkNotes()) { $0.originFailure = newValue } }
    }

    /// Work that runs off the transport's thread, before another message is sent and before handlers are called.
    var deferredWork: [DeferredWork] {
        get { notes.read { $0.deferredWork } ?? [] }
        set { notes.change(isUsual: newValue.isEmpty, from: LinkNotes()) { $0.deferredWork = newValue } }
    }
}

private struct LinkNotes {
    var answeredChallenge: ResponseHead?
    var clientCertificate: Data?
    var recorder: ResponseRecorder?
    var lead: FetchLeader?
    var fetchWait: FetchWait?
    var originFailure: OriginFailure?
    var deferredWork: [ChainContext.DeferredWork] = []
}

/// Stores a message on the heap: a `ChainContext` is copied often, and its message is large.
private final class MessageBox: Sendable {
    let message: OutgoingMessage

    init(_ message: OutgoingMessage) {
        self.message = message
    }
}
