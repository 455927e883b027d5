// Sections 12 and 13 of the Autobahn case list, as values: contents, sizes, and what both sides ask for.

import Fireweed
import FireweedTesting
import Testing

/// One subsection, which sends messages of all sizes with one agreement.
struct CompressionCase: Sendable, CustomTestStringConvertible {
    enum Content: Sendable {
        case json, bitmap, prose, markup, noise
    }

    let number: String
    let content: Content
    /// Keyword arguments of Python's `ServerPerMessageDeflateFactory`: what the server asks for.
    var server: [String: Int] = [:]
    var offer = WebSocketCompression()
    /// Parameters that the answer has to have.
    var answer: [String] = []

    var testDescription: String { number }

    static let all: [CompressionCase] =
        [Content.json, .bitmap, .prose, .markup, .noise].enumerated().map {
            CompressionCase(number: "12.\($0.offset + 1)", content: $0.element)
        } + parameters

    /// The list's clients that offer several sets of parameters, 13.7, offer here the one that its server would take.
    private static let parameters: [CompressionCase] = [
        (false, 0), (true, 0), (false, 9), (false, 15), (true, 9), (true, 15), (true, 9),
    ].enumerated().map { index, row in
        let (isWithoutTakeover, bits) = row
        var server: [String: Int] = [:]
        var answer: [String] = []
        if isWithoutTakeover {
            server["client_no_context_takeover"] = 1
            answer += ["client_no_context_takeover", "server_no_context_takeover"]
        }
        if bits > 0 {
            server["client_max_window_bits"] = bits
            answer += ["client_max_window_bits=\(bits)", "server_max_window_bits=\(bits)"]
        }
        return CompressionCase(
            number: "13.\(index + 1)", content: .json, server: server,
            offer: WebSocketCompression(
                allowsServerContextTakeover: !isWithoutTakeover, serverMaximumWindowBits: bits > 0 ? bits : nil),
            answer: answer)
    }

    /// The list's sizes, by the size of the fragments in which the peer sends: 0 for whole messages.
    static let sizes: [(fragment: Int, sizes: [Int])] = [
        (0, [16, 64, 256, 1024, 4096, 8192, 16384, 32768, 65536, 131072]),
        (256, [8192, 16384, 32768, 65536, 131072]), (1024, [131072]), (4096, [131072]), (32768, [131072]),
    ]

    /// The list has 1,000 messages of each size; here it is the quarter of a megabyte that is sent in each, and four
    /// messages at least.
    static func count(ofSize size: Int) -> Int { min(max((1 << 18) / size, 4), 1000) }

    /// A text of so many bytes that is cut out of endless content, at a place that the seed says.
    func message(size: Int, seed: Int) -> [UInt8] {
        var random = SeededGenerator(seed: UInt64(seed + 1))
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size + 64)
        while bytes.count < size { bytes += piece(&random, at: bytes.count) }
        return Array(bytes.prefix(size))
    }

    private func piece(_ random: inout SeededGenerator, at place: Int) -> [UInt8] {
        let number = Int(random.next() % 1000)
        switch content {
        case .json: return Array("{\"id\": \(number), \"name\": \"n\(number % 7)\", \"tags\": [\"a\", \"b\"]},\n".utf8)
        case .bitmap: return [UInt8(truncatingIfNeeded: place / 16 + number % 3)]
        case .prose: return Array(["der ", "Geist, ", "stets ", "verneint. ", "Drum "][number % 5].utf8)
        case .markup: return Array("<li class=\"item\"><a href=\"/\(number)\">\(number)</a></li>\n".utf8)
        case .noise: return withUnsafeBytes(of: random.next()) { Array($0) }
        }
    }
}
