// One exchange inside an attempt: a redirect adds one.

package import FireweedTransport
package import Foundation
import FoundationNetworking

/// What one hop sends, before cookies.
struct Hop: Sendable {
    var url: URL
    var method: String
    /// The fields of this hop; the session's own block when the request adds none.
    var fields: FieldBlock
    var body: BodySource
    /// The request as users see it; made from the parts when it is nil.
    var urlRequest: URLRequest?
    var credentials: RequestMessage.Credentials?
    /// True when the credentials are the request's own, and not found for it.
    var hasOwnCredentials = false
    /// What this origin has refused already.
    var refusedCredentials: [RequestMessage.Credentials] = []
    /// The request's credential, to be stored once it was accepted.
    var remembered: URLCredential?
    /// The response whose challenge the hop answers.
    var challenge: ResponseHead?
    /// The answer to a Digest challenge, which is for this method and this target alone.
    var digest: DigestRound?
    /// How many redirects have led here.
    var redirectCount = 0
    /// What the cache does with this message.
    var cacheUse = CacheUse.byRules
    /// Asks for a WebSocket; `nil` for every other kind of request.
    var webSocket: WebSocketOffer?
}

/// What became of one hop.
package struct HopRecord: Sendable {
    var url: URL
    var method: String
    /// The fields that were sent, cookies among them; what the engine adds is not there.
    var fields: FieldBlock
    var head: ResponseHead?
    var report: TransferReport
    var source = HopSource.network

    init(
        url: URL, method: String, fields: FieldBlock, head: ResponseHead?, report: TransferReport,
        source: HopSource = .network
    ) {
        self.url = url
        self.method = method
        self.fields = fields
        self.head = head
        self.report = report
        self.source = source
    }

    /// A hop that went over the network.
    package init(
        url: URL, method: String, fields: FieldBlock, response: ResponseHead?, report: TransferReport
    ) {
        self.init(url: url, method: method, fields: fields, head: response, report: report)
    }

    /// True when the response asked for another place; what follows such a hop is a redirect, and no answer to a challenge.
    var isRedirect: Bool { head.map { (300..<400).contains($0.status) && $0.status != 304 } ?? false }
}
