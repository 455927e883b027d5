// A record of the message heads on the wire.

import Dispatch
import Fireweed
import Foundation
import Synchronization

/// Keeps the heads of every exchange as they were on the wire.
final class WireRecorder: WireObserver {
    /// One request head and the heads that were received for it.
    struct Exchange: Sendable {
        /// The request's head with its empty line.
        let request: [UInt8]
        /// The received heads, including those of interim responses, each with its empty line.
        fileprivate(set) var responses: [[UInt8]] = []
        /// Lines after the last head: trailers, or an incomplete head.
        fileprivate(set) var rest: [UInt8] = []
        /// True while a head is being received.
        fileprivate var isInHead = true

        /// Whether the request asks a proxy for a tunnel (RFC 9110 §9.3.6).
        var isTunnel: Bool { request.starts(with: "CONNECT ".utf8) }

        /// The last complete head.
        var response: [UInt8]? { responses.last }

        /// The status of the last head.
        var status: Int? {
            guard let response else { return nil }
            let words = response.prefix { $0 != 0x0D && $0 != 0x0A }.split(separator: 0x20)
            return words.count > 1 ? Int(String(decoding: words[1], as: UTF8.self)) : nil
        }

        /// The fields of the last head, in their order.
        var fields: [(name: String, value: String)] {
            MessageText.lines(of: response ?? []).dropFirst().compactMap { line in
                guard let colon = line.firstIndex(of: ":") else { return nil }
                let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
                return (String(line[..<colon]), value)
            }
        }

        /// Returns the values of a field of the last head, in their order.
        func values(of name: String) -> [String] {
            fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        }

        /// True when content follows the request's head.
        var hasRequestContent: Bool {
            MessageText.lines(of: request).contains { line in
                let line = line.lowercased()
                return line.hasPrefix("transfer-encoding:")
                    || line.hasPrefix("content-length:") && !line.hasSuffix(" 0")
            }
        }
    }

    private let exchanges = Mutex<[Exchange]>([])
    /// The number of exchanges before the last attempt.
    private let earlierCount = Mutex(0)
    private let queue = DispatchQueue(label: "fireweed.output")
    /// Prints, on `queue`, each request that was sent, and the responses before a further request.
    private let printer: Mutex<HeadPrinter>
    private let notes: (@Sendable (String) -> Void)?

    /// An event that can be shown before the last response is complete.
    enum Event: Sendable {
        case sent(Exchange)
        case intermediate(Exchange, isOfEarlierAttempt: Bool)
    }

    init(notes: (@Sendable (String) -> Void)? = nil, heads: HeadPrinter) {
        self.notes = notes
        printer = Mutex(heads)
    }

    /// The last exchange.
    var last: Exchange? { exchanges.withLock { $0.last } }

    /// Returns the heads of all responses so far, or of those in the last attempt, without responses to CONNECT if the
    /// printer hides them.
    func heads(inLastAttempt: Bool) -> [[UInt8]] {
        let hidesTunnels = printer.withLock(\.hidesTunnels)
        let skipped = inLastAttempt ? earlierCount.withLock { $0 } : 0
        return exchanges.withLock { exchanges in
            exchanges.dropFirst(skipped).filter { !(hidesTunnels && $0.isTunnel) }.flatMap(\.responses)
        }
    }

    /// Notes that the request is tried again: what comes from now on belongs to another attempt.
    func noteRetry() {
        let count = exchanges.withLock { $0.count }
        earlierCount.withLock { $0 = count }
    }

    /// Forgets the exchanges of an earlier request; `heads` prints the exchanges of the next request.
    func begin(_ heads: HeadPrinter) {
        flush()
        printer.withLock { $0 = heads }
        exchanges.withLock { $0 = [] }
        earlierCount.withLock { $0 = 0 }
    }

    /// Waits until all events so far are shown.
    func flush() { queue.sync {} }

    func didSend(head: [UInt8]) {
        let (before, now) = exchanges.withLock { exchanges in
            let before = (exchange: exchanges.last, number: exchanges.count)
            exchanges.append(Exchange(request: head))
            return (before, exchanges[exchanges.count - 1])
        }
        let heads = printer.withLock { $0 }
        let isRetry = earlierCount.withLock { $0 } == before.number
        queue.async {
            if let before = before.exchange { heads.show(.intermediate(before, isOfEarlierAttempt: isRetry)) }
            heads.show(.sent(now))
        }
    }

    func didReceive(headLines bytes: [UInt8]) {
        exchanges.withLock { exchanges in
            guard !exchanges.isEmpty else { return }
            var rest = bytes[...]
            while let end = rest.firstIndex(of: 0x0A) ?? (rest.isEmpty ? nil : rest.endIndex - 1) {
                exchanges[exchanges.count - 1].append(Array(rest[...end]))
                rest = rest[(end + 1)...]
            }
        }
    }

    func didNote(_ text: String) {
        guard let notes else { return }
        queue.async { notes(text) }
    }
}

extension WireRecorder.Exchange {
    /// Makes the exchange of a response that a request has received, from its lines without the empty line.
    init(status: Int, lines: [UInt8]) {
        request = []
        let statusLine = lines.starts(with: "HTTP/".utf8) ? [] : Array("HTTP/2 \(status)\r\n".utf8)
        responses = [statusLine + lines + Array("\r\n".utf8)]
        isInHead = false
    }

    fileprivate mutating func append(_ line: [UInt8]) {
        let isStatusLine = line.starts(with: "HTTP/".utf8) && rest.isEmpty
        if isStatusLine { isInHead = true }
        rest += line
        guard isInHead, line.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) else { return }
        responses.append(rest)
        rest = []
        isInHead = false
    }
}
