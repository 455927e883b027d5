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
    /// The other notes of the links; `nil` until there is one, as for most exchanges: a context is copied often.
    private var notes: NoteBox?

    /// Work that enters the dispatch group, and leaves the group when the work is done.
    typealias DeferredWork = @Sendable (DispatchGroup) -> Void

    init(_ message: OutgoingMessage) {
        box = MessageBox(message)
        fields = message.fields
        if let challenge = message.challenge { answeredChallenge = challenge }
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
        get { notes?.values.answeredChallenge }
        set { setNote(newValue) { $0.answeredChallenge = $1 } }
    }

    /// The digest of the client certificate under which the cache looks up and stores the response.
    var clientCertificate: Data? {
        get { notes?.values.clientCertificate }
        set { setNote(newValue) { $0.clientCertificate = $1 } }
    }

    /// Records the response's content while it is received.
    var recorder: ResponseRecorder? {
        get { notes?.values.recorder }
        set { setNote(newValue) { $0.recorder = $1 } }
    }

    /// Notifies the requests that wait for the response; `nil` when no request can wait for it.
    var lead: FetchLeader? {
        get { notes?.values.lead }
        set { setNote(newValue) { $0.lead = $1 } }
    }

    /// The wait for an equal request's response, in this process or another; `nil` before a wait begins.
    var fetchWait: FetchWait? {
        get { notes?.values.fetchWait }
        set { setNote(newValue) { $0.fetchWait = $1 } }
    }

    /// The failure of the origin for an equal request; a stale response may be used instead.
    var originFailure: OriginFailure? {
        get { notes?.values.originFailure }
        set { setNote(newValue) { $0.originFailure = $1 } }
    }

    /// Work that runs off the transport's thread, before another message is sent and before handlers are called.
    var deferredWork: [DeferredWork] {
        get { notes?.values.deferredWork ?? [] }
        set { setNote(newValue.isEmpty ? nil : newValue) { $0.deferredWork = $1 ?? [] } }
    }

    private mutating func setNote<Value>(_ value: Value?, _ set: (inout LinkNotes, Value?) -> Void) {
        if notes == nil {
            guard value != nil else { return }
            notes = NoteBox(LinkNotes())
        } else if !isKnownUniquelyReferenced(&notes), let shared = notes {
            notes = NoteBox(shared.values)
        }
        if let notes { set(&notes.values, value) }
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

/// Stores the notes on the heap, once for all copies of a context until one of them changes.
private final class NoteBox: @unchecked Sendable {
    // SAFETY: changed only while one context alone refers to the box.
    var values: LinkNotes

    init(_ values: LinkNotes) {
        self.values = values
    }
}

/// Stores a message on the heap: a `ChainContext` is copied often, and its message is large.
private final class MessageBox: Sendable {
    let message: OutgoingMessage

    init(_ message: OutgoingMessage) {
        self.message = message
    }
}
