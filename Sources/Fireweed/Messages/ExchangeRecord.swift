// The record of a message and its response.

package import FireweedTransport
package import Foundation

/// A message, sent or not, with its response, for the metrics.
package struct ExchangeRecord: Sendable {
    var url: URL
    var method: String
    /// The fields that were sent, including cookies, without the fields that the transport adds.
    var fields: FieldBlock
    var head: ResponseHead?
    var report: TransferReport
    var source = AnswerSource.network

    init(
        url: URL, method: String, fields: FieldBlock, head: ResponseHead?, report: TransferReport,
        source: AnswerSource = .network
    ) {
        self.url = url
        self.method = method
        self.fields = fields
        self.head = head
        self.report = report
        self.source = source
    }

    /// A message that went over the network.
    package init(
        url: URL, method: String, fields: FieldBlock, response: ResponseHead?, report: TransferReport
    ) {
        self.init(url: url, method: method, fields: fields, head: response, report: report)
    }

    /// Whether the message left for the network, or was given to a `URLProtocol` class.
    var wasSent: Bool {
        switch source {
        case .network: head != nil || report.requestStart > 0
        case .cache, .revalidation, .notSent: false
        }
    }

    /// Whether the response was a redirect: the next message then follows it, and does not answer a challenge.
    var isRedirect: Bool { head.map { (300..<400).contains($0.status) && $0.status != 304 } ?? false }
}
