// The numbers of one exchange, in the shape of `URLSessionTaskTransactionMetrics`.

import FireweedTransport
public import Foundation
public import FoundationNetworking

/// The metrics of one exchange.
///
/// The time of an event that did not happen is `nil`, and its count of bytes is 0.
public struct TransactionMetrics: Sendable {
    /// Where a response came from.
    public enum ResourceFetchType: Int, Sendable {
        /// Not known, or nothing was sent.
        case unknown
        /// Over the network.
        case networkLoad
        /// Pushed by the server before it was asked for.
        case serverPush
        /// From the local cache.
        case localCache
    }

    /// The protocol of a look-up of names.
    public enum DomainResolutionProtocol: Int, Sendable {
        /// Not known.
        case unknown
        /// DNS over UDP.
        case udp
        /// DNS over TCP.
        case tcp
        /// DNS over TLS.
        case tls
        /// DNS over HTTPS.
        case https
    }

    private let exchange: ExchangeRecord

    /// Makes the metrics from the record of an exchange.
    package init(exchange: ExchangeRecord) {
        self.exchange = exchange
    }

    private var report: TransferReport { exchange.report }

    /// The request of this exchange with the fields that were sent, cookies among them; made at each call, without
    /// content.
    public var request: URLRequest {
        var request = URLRequest(url: exchange.url)
        request.httpMethod = exchange.method
        request.headers = HTTPHeaders(exchange.fields.fields.map { HTTPHeader(name: $0.name, value: $0.value) })
        return request
    }

    /// The fields of this exchange's request, one by one and in order.
    var requestFields: [Field] { exchange.fields.fields }
    /// The fields of this exchange's response, one by one and in order.
    var responseFields: [Field] { exchange.head?.fields ?? [] }
    /// The status of this exchange's response; `nil` without a response.
    public var statusCode: Int? { exchange.head?.status }
    /// The URL of this exchange's request; costs less than ``request``.
    public var url: URL { exchange.url }
    /// The method of this exchange's request; costs less than ``request``.
    public var method: String { exchange.method }
    /// How long the exchange was queued until it got a connection, or until a new connection was begun for it; `nil`
    /// when nothing was sent, unless the exchange ended in the queue.
    ///
    /// The time in which the connection is made does not count. For an exchange that ended in the queue, the value is
    /// its whole time.
    public var connectionWaitDuration: Duration? {
        guard case .network = exchange.source, exchange.wasSent || report.isUnassigned else { return nil }
        return .microseconds(report.isUnassigned ? report.total : max(0, report.waited))
    }

    /// The response of this exchange, if its head came.
    public var response: HTTPURLResponse? { exchange.head?.httpURLResponse(for: exchange.url) }

    /// The reason phrase of the status line (RFC 9112 §4), which may be empty.
    ///
    /// `nil` over HTTP/2, and without a response. ``response`` does not contain the phrase.
    public var responseReasonPhrase: String? { exchange.head?.reason }
    /// The head of the response as received, without the empty line at its end; `nil` without a response.
    ///
    /// Over HTTP/1.1 it is the status line and the field lines with their line ends (RFC 9112 §2.1), in their order and
    /// their case, with every line of a field that came more than once. Over HTTP/2, which has no such lines, it is a
    /// line for each field. Credentials and cookies are not redacted.
    public var responseHeadData: Data? { exchange.head.map { Data($0.receivedLines) } }

    /// When the exchange began; it may have been queued for a connection after that.
    public var fetchStartDate: Date? { date(after: 0) }
    /// When the name's look-up began; `nil` on a reused connection.
    public var domainLookupStartDate: Date? {
        isNewConnection && report.nameLookup > 0 ? date(after: report.waited) : nil
    }
    /// When the name's look-up ended.
    public var domainLookupEndDate: Date? { isNewConnection ? date(after: report.nameLookup, ifPositive: true) : nil }
    /// When connecting began; `nil` on a reused connection.
    public var connectStartDate: Date? { connectEndDate == nil ? nil : date(after: report.nameLookup) }
    /// When the connection was made, TLS included.
    public var connectEndDate: Date? {
        isNewConnection ? date(after: max(report.connect, report.secureConnect), ifPositive: true) : nil
    }
    /// When the TLS handshake began; `nil` in clear text and on a reused connection.
    public var secureConnectionStartDate: Date? { secureConnectionEndDate == nil ? nil : date(after: report.connect) }
    /// When the TLS handshake was done.
    public var secureConnectionEndDate: Date? {
        isNewConnection ? date(after: report.secureConnect, ifPositive: true) : nil
    }
    /// When the first byte of the request was sent; `nil` when nothing was sent.
    public var requestStartDate: Date? { date(after: report.requestStart, ifPositive: true) }
    /// When the last byte of the request's content was handed over; `nil` for a request without content.
    public var requestEndDate: Date? { date(after: report.requestEnd, ifPositive: true) }
    /// When the first byte of the response came.
    public var responseStartDate: Date? { date(after: report.responseStart, ifPositive: true) }
    /// When the exchange ended, by its response, a failure, a time-out or a cancellation.
    public var responseEndDate: Date? { date(after: report.total, ifPositive: true) }

    /// `http/1.1` or `h2`, as ALPN names them; `nil` without a response.
    public var networkProtocolName: String? { report.protocolName }
    /// Whether the connection existed before.
    public var isReusedConnection: Bool { report.isReusedConnection }
    /// Whether the connection leads through a proxy.
    public var isProxyConnection: Bool { report.usesProxy }
    /// Always false: Linux does not say whether a route is a cellular one.
    public var isCellular: Bool { false }
    /// Always false: Linux has no expensive routes.
    public var isExpensive: Bool { false }
    /// Always false: Linux has no routes with a data saver.
    public var isConstrained: Bool { false }
    /// Always false: connections use one path (RFC 8684 is not used).
    public var isMultipath: Bool { false }
    /// The protocol of the look-up of the host's name: always `.unknown`, since the system's resolver does not tell.
    public var domainResolutionProtocol: DomainResolutionProtocol { .unknown }
    /// Where the response came from.
    ///
    /// A stored response that the origin has validated has two transactions: `.networkLoad` with the 304, then
    /// `.localCache`. A request that sent nothing appears as `.unknown`.
    public var resourceFetchType: ResourceFetchType {
        switch exchange.source {
        case .network: exchange.wasSent ? .networkLoad : .unknown
        case .cache, .revalidation: .localCache
        case .notSent: .unknown
        }
    }

    /// Bytes of the request's head on the wire.
    public var countOfRequestHeaderBytesSent: Int64 { report.requestHeaderByteCount }
    /// Bytes of the request's content on the wire.
    public var countOfRequestBodyBytesSent: Int64 { report.requestBodyByteCount }
    /// The same number as ``countOfRequestBodyBytesSent``, even if the content was compressed before.
    public var countOfRequestBodyBytesBeforeEncoding: Int64 { report.requestBodyByteCount }
    /// Bytes of the response's head on the wire.
    public var countOfResponseHeaderBytesReceived: Int64 { report.responseHeaderByteCount }
    /// Bytes of the response's content on the wire, content coding still on.
    public var countOfResponseBodyBytesReceived: Int64 { report.responseBodyByteCount }
    /// Bytes of the response's content after decoding.
    public var countOfResponseBodyBytesAfterDecoding: Int64 { report.responseDecodedByteCount }

    /// Our address; `nil` without a connection.
    public var localAddress: String? { report.localEndpoint?.address }
    /// Our port.
    public var localPort: Int? { report.localEndpoint?.port }
    /// The address of the server, or of the proxy; `nil` without a connection.
    public var remoteAddress: String? { report.remoteEndpoint?.address }
    /// The port of the server, or of the proxy.
    public var remotePort: Int? { report.remoteEndpoint?.port }
    /// `TLSv1.2`, `TLSv1.3`, …; `nil` in clear text.
    public var negotiatedTLSProtocolVersion: String? { report.tls?.version }
    /// The cipher suite in OpenSSL's name; `nil` in clear text.
    public var negotiatedTLSCipherSuite: String? { report.tls?.cipher }

    private var isNewConnection: Bool { !report.isReusedConnection }

    private func date(after microseconds: Int64, ifPositive: Bool = false) -> Date? {
        guard !ifPositive || microseconds > 0 else { return nil }
        return Date(timeIntervalSince1970: Double(report.startNanoseconds) / 1e9 + Double(microseconds) / 1e6)
    }
}
