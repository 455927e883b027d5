// One exchange inside an attempt: a redirect adds one.

import FireweedTransport
import Foundation
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
}

/// What became of one hop.
struct HopRecord: Sendable {
    var url: URL
    var method: String
    var head: ResponseHead?
    var report: TransferReport
    var source = HopSource.network
}
