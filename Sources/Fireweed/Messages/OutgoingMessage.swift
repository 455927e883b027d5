// A message of an attempt, and what the session knows about it.

import FireweedTransport
import Foundation
import FoundationNetworking

/// A message that the user, a redirect or a challenge produced, with the data that links need about the message.
///
/// Links never write their additions into this value: a message that is sent again begins without their fields.
struct OutgoingMessage: Sendable {
    /// The message for the transport; the attempt sets its time limits.
    private(set) var wire: RequestMessage
    /// The target.
    var url: URL {
        didSet { wire.url = url.absoluteString }
    }
    /// The public form of the request; `nil` until it is made.
    var urlRequest: URLRequest?
    private var rare = RareMembers<Rare>()

    private struct Rare {
        var hasOwnCredentials = false
        var refusedCredentials: [RequestMessage.Credentials] = []
        var remembered: URLCredential?
        var challenge: ResponseHead?
        var digest: DigestRound?
        var laterSchemes: AuthenticationSchemes = []
        var redirectCount = 0
        var cacheUse = CacheUse.byRules
    }

    init(url: URL, method: String, fields: FieldBlock, body: MessageContent, urlRequest: URLRequest? = nil) {
        self.url = url
        self.urlRequest = urlRequest
        wire = RequestMessage(url: url.absoluteString, method: method, fields: fields)
        wire.content = body
    }

    var method: String {
        get { wire.method }
        set { wire.method = newValue }
    }

    /// The message's fields, without the fields that links add; the session's own block when the request adds no
    /// fields.
    var fields: FieldBlock {
        get { wire.fields }
        set { wire.fields = newValue }
    }

    var body: MessageContent {
        get { wire.content }
        set { wire.content = newValue }
    }

    var credentials: RequestMessage.Credentials? {
        get { wire.credentials }
        set { wire.credentials = newValue }
    }

    /// The WebSocket that the message asks for; `nil` for every other kind of request.
    var webSocket: WebSocketOffer? {
        get { wire.webSocket }
        set { wire.webSocket = newValue }
    }
}

// MARK: - Members that most messages lack

extension OutgoingMessage {
    /// Whether the credentials were set on the request, instead of looked up for it.
    var hasOwnCredentials: Bool {
        get { rare.read { $0.hasOwnCredentials } ?? false }
        set { rare.change(isUsual: !newValue, from: Rare()) { $0.hasOwnCredentials = newValue } }
    }

    /// The credentials that this origin has refused.
    var refusedCredentials: [RequestMessage.Credentials] {
        get { rare.read { $0.refusedCredentials } ?? [] }
        set { rare.change(isUsual: newValue.isEmpty, from: Rare()) { $0.refusedCredentials = newValue } }
    }

    /// The request's credential, to be stored once the server has accepted it.
    var remembered: URLCredential? {
        get { rare.read { $0.remembered } ?? nil }
        set { rare.change(isUsual: newValue == nil, from: Rare()) { $0.remembered = newValue } }
    }

    /// The response whose challenge the message answers.
    var challenge: ResponseHead? {
        get { rare.read { $0.challenge } ?? nil }
        set { rare.change(isUsual: newValue == nil, from: Rare()) { $0.challenge = newValue } }
    }

    /// The answer to a Digest challenge, which is valid only for this method and this target.
    var digest: DigestRound? {
        get { rare.read { $0.digest } ?? nil }
        set { rare.change(isUsual: newValue == nil, from: Rare()) { $0.digest = newValue } }
    }

    /// The schemes to try after Negotiate, the present scheme, is refused; empty when another scheme is in use.
    var laterSchemes: AuthenticationSchemes {
        get { rare.read { $0.laterSchemes } ?? [] }
        set { rare.change(isUsual: newValue.isEmpty, from: Rare()) { $0.laterSchemes = newValue } }
    }

    /// How many redirects have led to this message.
    var redirectCount: Int {
        get { rare.read { $0.redirectCount } ?? 0 }
        set { rare.change(isUsual: newValue == 0, from: Rare()) { $0.redirectCount = newValue } }
    }

    /// How the cache treats this message.
    var cacheUse: CacheUse {
        get { rare.read { $0.cacheUse } ?? .byRules }
        set { rare.change(isUsual: newValue.isByRules, from: Rare()) { $0.cacheUse = newValue } }
    }
}
