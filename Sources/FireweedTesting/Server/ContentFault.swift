// The fault in a response's content.

import Foundation

/// Cuts or slows the content of one answer; bytes are counted across all its pieces.
struct ContentFault {
    /// The result of sending a piece.
    enum Progress {
        case sent
        /// All bytes before the fault are sent, so the fault takes effect now.
        case due
        /// The client or the connection is gone.
        case lost
    }

    private var byteCount: Int?
    private let bytesPerSecond: Int?
    /// The pause before the next part, which follows from the rate and the size of the previous part.
    private var pause = Duration.zero

    init(_ fault: ServerFault?) {
        byteCount = fault?.contentByteCount.map { max(0, $0) }
        if case .throttle(let rate) = fault { bytesPerSecond = max(1, rate) } else { bytesPerSecond = nil }
    }

    /// Whether the answer ends with the fault, even if the content is shorter than the fault's byte count.
    var isPending: Bool { byteCount != nil }

    /// Whether every byte before the fault is sent.
    var isDue: Bool { byteCount == 0 }

    /// Sends a piece, in several parts when a rate is set.
    ///
    /// `wait` waits for a duration, and `write` sends a part of at least one byte. Both return false when the client or
    /// the connection is gone.
    mutating func send(_ data: Data, waitingBy wait: (Duration) -> Bool, _ write: (Data) -> Bool) -> Progress {
        var rest = byteCount.map { data.prefix($0) } ?? data
        byteCount? -= rest.count
        while !rest.isEmpty {
            // With a rate, a part has the bytes of a tenth of a second, but at least one byte.
            let part = rest.prefix(bytesPerSecond.map { max(1, $0 / 10) } ?? rest.count)
            if pause > .zero, !wait(pause) { return .lost }
            guard write(Data(part)) else { return .lost }
            if let bytesPerSecond { pause = .seconds(Double(part.count) / Double(bytesPerSecond)) }
            rest = rest.dropFirst(part.count)
        }
        return isDue ? .due : .sent
    }
}

extension ServerFault {
    /// The number of the content's bytes before the fault; `nil` for faults elsewhere.
    fileprivate var contentByteCount: Int? {
        switch self {
        case .closeInBody(let count), .resetInBody(let count), .stallInBody(let count),
            .resetStreamInBody(let count, _):
            count
        case .closeAfterRequestHead, .closeInRequestBody, .closeBeforeHead, .closeInHead, .closeAfterHead, .reset,
            .garbage, .goAway, .resetStream, .throttle:
            nil
        }
    }
}
