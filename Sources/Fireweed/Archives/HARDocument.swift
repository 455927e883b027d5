// The shape of an HTTP archive (HAR 1.2), as it is written.

package import Foundation

/// The whole archive.
package struct HARDocument: Encodable {
    let log: Log

    struct Log: Encodable {
        let version = "1.2"
        let creator = Creator()
        let pages: [Page]
        let entries: [HAREntry]
    }

    struct Creator: Encodable {
        let name = "Fireweed"
        let version = AFInfo.version
    }

    /// Readers group entries by pages: all are of one.
    struct Page: Encodable {
        let startedDateTime: String
        let id = HAREntry.page
        let title = "Fireweed"
        let pageTimings = PageTimings()
    }

    struct PageTimings: Encodable {
        let onContentLoad = -1
        let onLoad = -1
    }

    package init(entries: [HAREntry]) {
        let pages = entries.first.map { [Page(startedDateTime: $0.startedDateTime)] } ?? []
        log = Log(pages: pages, entries: entries)
    }

    /// The archive as JSON.
    package func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self)
    }
}

/// One exchange.
package struct HAREntry: Encodable, Sendable {
    static let page = "page_1"

    var pageref = HAREntry.page
    var startedDateTime: String
    var time: Double
    var request: Request
    var response: Response
    var cache = Cache()
    var timings: HARTimings
    var serverIPAddress: String?
    var connection: String?
    /// Why there is no response, in the key that developer tools use.
    var _error: String?  // swift-format-ignore: NoLeadingUnderscores

    struct Cache: Encodable, Sendable {}

    struct Pair: Encodable, Sendable, Equatable {
        var name: String
        var value: String
    }

    struct Request: Encodable, Sendable {
        var method: String
        var url: String
        var httpVersion: String
        var cookies: [Pair]
        var headers: [Pair]
        var queryString: [Pair]
        var postData: PostData?
        var headersSize: Int64
        var bodySize: Int64
    }

    struct PostData: Encodable, Sendable {
        var mimeType: String
        var params: [Pair] = []
        var text: String
        /// `base64` for what is no text; the standard has no word for that here, and readers skip it.
        var _encoding: String?  // swift-format-ignore: NoLeadingUnderscores
    }

    struct Response: Encodable, Sendable {
        var status: Int
        var statusText: String
        var httpVersion: String
        var cookies: [Pair]
        var headers: [Pair]
        var content: Content
        var redirectURL: String
        var headersSize: Int64
        var bodySize: Int64
    }

    struct Content: Encodable, Sendable {
        var size: Int64
        var compression: Int64?
        var mimeType: String
        var text: String?
        var encoding: String?
    }
}

/// Where the time of an exchange went, in milliseconds; -1 for what did not happen.
struct HARTimings: Encodable, Sendable {
    var blocked: Double
    var dns: Double
    var connect: Double
    var ssl: Double
    var send: Double
    var wait: Double
    var receive: Double

    init(_ transaction: TransactionMetrics) {
        let span = { (start: Date?, end: Date?) -> Double? in
            guard let start, let end else { return nil }
            return max(0, end.timeIntervalSince(start) * 1000)
        }
        dns = span(transaction.domainLookupStartDate, transaction.domainLookupEndDate) ?? -1
        connect = span(transaction.connectStartDate, transaction.connectEndDate) ?? -1
        ssl = span(transaction.secureConnectionStartDate, transaction.secureConnectionEndDate) ?? -1
        let end = transaction.responseEndDate
        let requestStart = transaction.requestStartDate
        // Without content the message is sent in one go.
        let sent = transaction.requestEndDate ?? requestStart
        let before = span(transaction.fetchStartDate, requestStart ?? end) ?? 0
        blocked = max(0, before - max(0, dns) - max(0, connect))
        send = span(requestStart, sent) ?? 0
        wait = span(sent, transaction.responseStartDate ?? end) ?? 0
        receive = span(transaction.responseStartDate, end) ?? 0
    }

    /// The sum; the TLS handshake is a part of connecting.
    var sum: Double { blocked + max(0, dns) + max(0, connect) + send + wait + receive }
}
