// The shape of an HTTP archive (HAR 1.2), as it is written.

package import Foundation

/// The root object of the archive.
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

    /// The page of all entries, since readers group entries by page.
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

    /// Returns the archive as JSON.
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
    var timings: ExchangeTimings
    var serverIPAddress: String?
    var connection: String?
    /// Why the exchange failed, with or without a response, in the key that developer tools use.
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
        /// `base64` for content that is not UTF-8; HAR defines no key for the encoding of sent content, and readers
        /// ignore this key.
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
