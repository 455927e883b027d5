// Conversion of transactions to entries of an archive.

import FireweedTransport
package import Foundation
import FoundationNetworking

/// Makes entries from transactions, without secrets.
package struct HARWriter {
    let redaction: Redaction

    package init(redaction: Redaction) {
        self.redaction = redaction
    }

    package func entry(of transaction: TransactionMetrics, sent: Data?, received: Data?, error: AFError?) -> HAREntry {
        let timings = ExchangeTimings(transaction)
        return HAREntry(
            startedDateTime: Self.text(of: transaction.fetchStartDate ?? Date()), time: timings.sum,
            request: request(of: transaction, content: sent), response: response(of: transaction, content: received),
            timings: timings, serverIPAddress: transaction.remoteAddress,
            connection: transaction.localPort.map(String.init),
            _error: error.map(ExchangeText.line))
    }

    private func request(of transaction: TransactionMetrics, content: Data?) -> HAREntry.Request {
        let url = redaction.text(ofURL: transaction.url.absoluteString)
        let fields = transaction.requestFields
        return HAREntry.Request(
            method: transaction.method, url: url, httpVersion: Self.version(transaction.networkProtocolName),
            cookies: fields.filter { $0.name.isEqualIgnoringASCIICase("Cookie") }.flatMap(cookies),
            headers: headers(fields), queryString: Self.pairs(url: url),
            postData: content.map { postData($0, type: Self.value("Content-Type", in: fields)) },
            headersSize: transaction.countOfRequestHeaderBytesSent > 0 ? transaction.countOfRequestHeaderBytesSent : -1,
            bodySize: transaction.countOfRequestBodyBytesSent)
    }

    private func response(of transaction: TransactionMetrics, content: Data?) -> HAREntry.Response {
        let fields = transaction.responseFields
        let status = transaction.statusCode ?? 0
        return HAREntry.Response(
            status: status, statusText: statusText(of: transaction),
            httpVersion: Self.version(transaction.networkProtocolName),
            cookies: fields.filter { $0.name.isEqualIgnoringASCIICase("Set-Cookie") }.map(setCookie),
            headers: headers(fields), content: self.content(content, of: transaction),
            redirectURL: Self.value("Location", in: fields).map(redaction.text) ?? "",
            headersSize: transaction.countOfResponseHeaderBytesReceived > 0
                ? transaction.countOfResponseHeaderBytesReceived : -1,
            bodySize: status == 0 ? -1 : transaction.countOfResponseBodyBytesReceived)
    }

    // MARK: Parts

    /// Returns the received reason phrase, redacted; without one, the status's standard phrase; empty without a status.
    private func statusText(of transaction: TransactionMetrics) -> String {
        guard let status = transaction.statusCode else { return "" }
        return transaction.responseReasonPhrase.map(redaction.text)
            ?? HTTPURLResponse.localizedString(forStatusCode: status)
    }

    private func headers(_ fields: [Field]) -> [HAREntry.Pair] {
        fields.map { HAREntry.Pair(name: $0.name, value: redaction.value($0.value, ofField: $0.name)) }
    }

    private func cookies(_ field: Field) -> [HAREntry.Pair] {
        field.value.unicodeScalars.split(separator: ";").map { pair in
            cookie(pair, isSecret: redaction.fieldNames.contains("cookie"))
        }
    }

    private func setCookie(_ field: Field) -> HAREntry.Pair {
        cookie(field.value.unicodeScalars.prefix { $0 != ";" }, isSecret: redaction.fieldNames.contains("set-cookie"))
    }

    /// Makes a cookie from `name=value`; splits by scalars, since in a `Character` a combining mark after `=` would
    /// hide the equals sign.
    private func cookie(_ pair: Substring.UnicodeScalarView, isSecret: Bool) -> HAREntry.Pair {
        let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = (halves.first.map { String($0) } ?? "").trimmingCharacters(in: .whitespaces)
        let value = halves.count > 1 ? String(halves[1]).trimmingCharacters(in: .whitespaces) : ""
        return HAREntry.Pair(name: name, value: isSecret ? Redaction.mark : value)
    }

    private func postData(_ data: Data, type: String?) -> HAREntry.PostData {
        let clean = redaction.content(data, type: type)
        let type = type ?? "application/octet-stream"
        guard let text = String(data: clean, encoding: .utf8) else {
            return HAREntry.PostData(mimeType: type, text: clean.base64EncodedString(), _encoding: "base64")
        }
        let isForm = type.lowercased().contains("x-www-form-urlencoded")
        return HAREntry.PostData(mimeType: type, params: isForm ? Self.pairs(text) : [], text: text)
    }

    private func content(_ data: Data?, of transaction: TransactionMetrics) -> HAREntry.Content {
        let type = Self.value("Content-Type", in: transaction.responseFields)
        let (size, wire) = (
            transaction.countOfResponseBodyBytesAfterDecoding, transaction.countOfResponseBodyBytesReceived
        )
        var content = HAREntry.Content(size: size, compression: size > wire ? size - wire : nil, mimeType: type ?? "")
        guard let data else { return content }
        let clean = redaction.content(data, type: type)
        if let text = String(data: clean, encoding: .utf8) {
            content.text = text
        } else {
            content.text = clean.base64EncodedString()
            content.encoding = "base64"
        }
        return content
    }

    // MARK: Texts

    private static func value(_ name: String, in fields: [Field]) -> String? {
        fields.first { $0.name.isEqualIgnoringASCIICase(name) }?.value
    }

    private static func pairs(url: String) -> [HAREntry.Pair] {
        guard let mark = url.firstIndex(of: "?") else { return [] }
        return pairs(String(url[url.index(after: mark)...].prefix { $0 != "#" }))
    }

    private static func pairs(_ query: String) -> [HAREntry.Pair] {
        query.unicodeScalars.split(separator: "&").map { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { half in
                let spaced = String(half).replacingOccurrences(of: "+", with: " ")
                return spaced.removingPercentEncoding ?? spaced
            }
            return HAREntry.Pair(name: halves[0], value: halves.count > 1 ? halves[1] : "")
        }
    }

    private static func version(_ name: String?) -> String {
        switch name {
        case "h2": "HTTP/2"
        case let name?: name.uppercased()
        case nil: ""
        }
    }

    /// Formats a date in ISO 8601, with milliseconds.
    private static func text(of date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
