import FireweedTesting
import Foundation

@testable import FireweedTransport

/// What a parser makes of a response that comes in pieces, as the pieces end or the connection does.
struct ParsedResponse: Equatable {
    var interim: [Int] = []
    var status: Int?
    var reason: String?
    var lines: [UInt8] = []
    var fields: [Field] = []
    var framing: ContentFraming?
    var content: [UInt8] = []
    var trailers: [Field]?
    /// Bytes that came behind the end.
    var rest: [UInt8] = []
    var isAtEnd = false
    var isPersistent = false
    var keepAliveSeconds: Int?
    var headerByteCount = 0
    /// Why it was refused.
    var failure: String?

    var text: String { String(decoding: content, as: UTF8.self) }

    init(
        _ pieces: [ArraySlice<UInt8>], to expectation: ResponseExpectation = ResponseExpectation(method: "GET"),
        limits: ResponseLimits = .init(), closes: Bool = true
    ) {
        var parser = HTTP1ResponseParser(limits: limits)
        parser.expect(expectation)
        do {
            for piece in pieces {
                try take(Array(piece), &parser)
            }
            if closes {
                try parser.finish()
                try take([], &parser)
            }
        } catch {
            failure = error.urlError(failingURL: "").localizedDescription
        }
        isAtEnd = parser.isAtEnd && failure == nil
        isPersistent = parser.isPersistent
        keepAliveSeconds = parser.keepAliveSeconds
        headerByteCount = parser.headerByteCount
        trailers = parser.trailers?.fields
    }

    private mutating func take(_ bytes: [UInt8], _ parser: inout HTTP1ResponseParser) throws(TransferFailure) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(TransferFailure) in
            var bytes = UnsafeRawBufferPointer(buffer)
            while true {
                switch try parser.next(&bytes) {
                case .needsMore: return
                case .interim(let head): interim.append(head.status)
                case .head(let head, let framing):
                    (status, reason, lines, fields) = (head.status, head.reason, head.receivedLines, head.fields)
                    self.framing = framing
                case .content(let piece): content += piece
                case .end:
                    rest += bytes
                    return
                }
            }
        }
    }

    init(
        _ text: String, to expectation: ResponseExpectation = ResponseExpectation(method: "GET"),
        limits: ResponseLimits = .init(), closes: Bool = true
    ) {
        self.init([Array(text.utf8)[...]], to: expectation, limits: limits, closes: closes)
    }
}

extension [UInt8] {
    /// The bytes in pieces of random lengths.
    func cut(by generator: inout SeededGenerator) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var rest = self[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...Swift.max(1, Swift.min(rest.count, 40)), using: &generator))
            pieces.append(piece)
            rest = rest[piece.endIndex...]
        }
        return pieces
    }
}
