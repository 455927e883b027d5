// The parsing rules of event streams (WHATWG HTML §9.2.5 and §9.2.6); pure.

/// Parses the bytes of an event stream into events; an event may extend over several pieces of content.
///
/// An event without its final empty line is dropped when the stream ends: `restart` does that.
package struct ServerSentEventParser: Sendable {
    /// The last event ID in effect, which a reconnection sends.
    package private(set) var lastEventID: String
    /// The value of the latest `retry` field.
    package private(set) var reconnectionTime: Duration?

    private var lines: LineSplitter
    private let maximumEventByteCount: Int
    private var data = ""
    private var hasData = false
    private var type = ""
    private var retry: Duration?
    /// Set by an `id` field, and in effect from the next empty line on.
    private var idBuffer: String

    /// Makes a parser that begins with the last event ID of an earlier connection, as browsers do; by the standard, a
    /// new connection begins without an ID.
    package init(lastEventID: String = "", maximumEventByteCount: Int) {
        self.lastEventID = lastEventID
        idBuffer = lastEventID
        self.maximumEventByteCount = maximumEventByteCount
        // The longest line that can be valid has a field name, a colon and a space before the data.
        lines = LineSplitter(terminator: .any, maximumByteCount: max(maximumEventByteCount, maximumEventByteCount &+ 8))
    }

    package mutating func append(_ piece: some Sequence<UInt8>) {
        lines.append(piece)
    }

    /// The next event; `nil` until more content comes.
    package mutating func next() throws(StreamedContentError) -> ServerSentEvent? {
        while let line = try nextLine() {
            if line.isEmpty {
                if let event = dispatch() { return event }
            } else if line.first != UInt8(ascii: ":") {
                try take(line)
            }
        }
        return nil
    }

    /// Begins the content of another connection.
    package mutating func restart() {
        lines.restart()
        idBuffer = lastEventID
        forgetEvent()
    }

    private mutating func nextLine() throws(StreamedContentError) -> ArraySlice<UInt8>? {
        do throws(StreamedContentError) {
            return try lines.next()
        } catch {
            throw .eventTooLong(limit: maximumEventByteCount)
        }
    }

    private mutating func dispatch() -> ServerSentEvent? {
        defer { forgetEvent() }
        lastEventID = idBuffer
        guard hasData else { return nil }
        return ServerSentEvent(
            event: type.isEmpty ? "message" : type, data: data, id: lastEventID.isEmpty ? nil : lastEventID,
            retry: retry)
    }

    private mutating func forgetEvent() {
        data = ""
        hasData = false
        type = ""
        retry = nil
    }

    private mutating func take(_ line: ArraySlice<UInt8>) throws(StreamedContentError) {
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
        var value = colon.map { line[($0 + 1)...] } ?? []
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        // Names are compared with case: `Data` is not a known field.
        switch String(decoding: line[..<(colon ?? line.endIndex)], as: UTF8.self) {
        case "data": try takeData(value)
        case "event": type = String(decoding: value, as: UTF8.self)
        case "id": if !value.contains(0) { idBuffer = String(decoding: value, as: UTF8.self) }
        case "retry": takeRetry(value)
        default: break
        }
    }

    private mutating func takeData(_ value: ArraySlice<UInt8>) throws(StreamedContentError) {
        // The limit also counts the line feeds between data lines.
        guard data.utf8.count + value.count + (hasData ? 1 : 0) <= maximumEventByteCount else {
            throw .eventTooLong(limit: maximumEventByteCount)
        }
        if hasData { data += "\n" }
        data += String(decoding: value, as: UTF8.self)
        hasData = true
    }

    /// Takes whole milliseconds; a number that is too large becomes the longest time.
    private mutating func takeRetry(_ value: ArraySlice<UInt8>) {
        guard !value.isEmpty, value.allSatisfy({ (0x30...0x39).contains($0) }) else { return }
        let milliseconds = Int64(String(decoding: value, as: UTF8.self)) ?? .max
        let time = Duration.milliseconds(min(milliseconds, Self.longestMilliseconds))
        retry = time
        reconnectionTime = time
    }

    /// A year: longer than any process waits, and short enough for every clock.
    static let longestMilliseconds: Int64 = 365 * 86_400_000
}
