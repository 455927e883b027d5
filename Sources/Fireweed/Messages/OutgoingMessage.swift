// A message of an attempt, and what the session knows about it.

import FireweedTransport
import Foundation
import FoundationNetworking

/// A message as the user, a redirect or an answer to a challenge made it, with what links have to know about it.
///
/// Links never write what they add into it: a message that is sent again begins without their fields.
struct OutgoingMessage: Sendable {
    /// The message as the transport takes it; the attempt fills in its times.
    private(set) var wire: RequestMessage
    /// The target.
    var url: URL {
        didSet { wire.url = url.absoluteString }
    }
    /// The request as users see it; made from the message when it is nil.
    var urlRequest: URLRequest?
    /// True when the credentials are the request's own, and not found for it.
    var hasOwnCredentials = false
    /// What this origin has refused already.
    var refusedCredentials: [RequestMessage.Credentials] = []
    /// The request's credential, to be stored once it was accepted.
    var remembered: URLCredential?
    /// The response whose challenge the message answers.
    var challenge: ResponseHead?
    /// The answer to a Digest challenge, which is for this method and this target alone.
    var digest: DigestRound?
    /// How many redirects have led here.
    var redirectCount = 0
    /// What the cache does with this message.
    var cacheUse = CacheUse.byRules

    init(url: URL, method: String, fields: FieldBlock, body: BodySource, urlRequest: URLRequest? = nil) {
        self.url = url
        self.urlRequest = urlRequest
        wire = RequestMessage(url: url.absoluteString, method: method, fields: fields, body: body)
    }

    var method: String {
        get { wire.method }
        set { wire.method = newValue }
    }

    /// The fields without those that links add; the session's own block when the request adds none.
    var fields: FieldBlock {
        get { wire.fields }
        set { wire.fields = newValue }
    }

    var body: BodySource {
        get { wire.body }
        set { wire.body = newValue }
    }

    var credentials: RequestMessage.Credentials? {
        get { wire.credentials }
        set { wire.credentials = newValue }
    }

    /// Asks for a WebSocket; `nil` for every other kind of request.
    var webSocket: WebSocketOffer? {
        get { wire.webSocket }
        set { wire.webSocket = newValue }
    }
}
