// What became of a message.

package import FireweedTransport
package import Foundation

/// A message that was sent or answered without being sent, and what came of it, for the metrics.
package struct ExchangeRecord: Sendable {
    var url: URL
    var method: String
    /// The fields that were sent, cookies among them; without those that the transport adds.
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

    /// True when the response asked for another place: the next message follows a redirect, and answers no challenge.
    var isRedirect: Bool { head.map { (300..<400).contains($0.status) && $0.status != 304 } ?? false }
}
