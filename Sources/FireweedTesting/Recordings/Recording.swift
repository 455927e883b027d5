// Recorded exchanges, and stubs made from them.

public import Fireweed
import FireweedTransport
public import Foundation

/// The exchanges of an HTTP archive (HAR 1.2), such as those that browsers' developer tools, `HARRecorder` and
/// ``RecordingTransport`` write.
///
/// ```swift
/// let recording = try Recording(contentsOf: url)
/// let session = Session.replaying(recording)
/// ```
///
/// An exchange answers a request with the same method and URL, query included, and with the same content where the
/// archive has it; ``RecordingMatch`` has other rules. JSON and forms are compared by their members, parts of a
/// multipart form without their boundary. A value that is redacted in the archive (`Redaction.mark`) matches every
/// value. A request that was not recorded fails with ``UnmatchedRequestError``, which shows the nearest exchange.
///
/// A response to HEAD, a 204 and a 304 are replayed without content, as they are on the wire (RFC 9110 §6.4.1). Content
/// that an archive has for them is ignored: browsers write the content of their cache into a 304.
public struct Recording: Sendable {
    /// The number of exchanges.
    public var count: Int { entries.count }
    /// The time at which the earliest exchange was recorded; `nil` when the archive has no dates.
    public let date: Date?
    let entries: [ArchivedExchange]

    /// Reads a file.
    ///
    /// - Throws: the errors of `Data(contentsOf:)` and `init(har:)`.
    public init(contentsOf url: URL) throws {
        try self.init(har: Data(contentsOf: url))
    }

    /// Reads an archive.
    ///
    /// Members that replaying does not need may be missing, and unknown ones are skipped.
    ///
    /// - Parameter har: the JSON, in UTF-8.
    /// - Throws: ``RecordingError`` when it is not an archive, or when content in it is damaged.
    public init(har: Data) throws {
        do {
            let archive = try FireweedJSONDecoder().decode(
                ArchivedExchange.Archive.self, from: har.withoutByteOrderMark)
            entries = archive.log.entries
        } catch let error as DecodingError {
            throw RecordingError(error)
        }
        date = entries.compactMap { $0.startedDateTime.flatMap(Self.date) }.min()
    }

    /// Reads an ISO 8601 date; fractions of seconds, which have zero to nine digits, are ignored.
    private static func date(_ text: String) -> Date? {
        let parts = text.split(separator: ".", maxSplits: 1)
        let fraction = parts.count > 1 ? parts[1].drop { $0.isNumber } : ""
        return ISO8601DateFormatter().date(from: String((parts.first ?? "") + fraction))
    }

    // MARK: Age

    /// Expects that the recording is not older than `age`.
    ///
    /// - Parameters:
    ///   - age: the age that the recording may have.
    ///   - now: the date to compare with; the current date by default.
    ///   - filePath: the file of the call, for the error.
    ///   - line: the line of the call, for the error.
    /// - Throws: ``StubExpectationError`` when the recording is older; an archive without dates passes.
    public func expect(
        noOlderThan age: Duration, now: Date = Date(), filePath: StaticString = #filePath, line: UInt = #line
    ) throws {
        guard let text = ageReport(limit: age, now: now) else { return }
        throw StubExpectationError(text, at: SourcePlace(filePath: filePath, line: line))
    }

    /// Returns the warning about a recording that is older than a limit; `nil` when it is not older.
    func ageReport(limit: Duration, now: Date) -> String? {
        guard let date, now.timeIntervalSince(date) > limit.seconds else { return nil }
        return "The recording is of \(date), and is to be no older than \(limit): record it again."
    }

    // MARK: Stubs

    /// The requests as they were recorded, in order.
    package var requests: [RecordedRequest] {
        entries.map { entry in
            let type = entry.request.postData?.mimeType.map { [Field(name: "Content-Type", value: $0)] }
            return RecordedRequest(
                method: entry.messages == nil ? entry.request.method : "GET", url: entry.request.url,
                fields: type ?? [], body: entry.request.postData?.sentData ?? Data(),
                isWebSocket: entry.messages != nil)
        }
    }

    /// The exchanges as stubs, for a session or a server; each finds its requests by method, URL and content.
    public var stubs: [Stub] { stubs(matching: .request) }

    /// The exchanges as stubs, for a session or a server.
    ///
    /// - Parameters:
    ///   - match: how a request finds its exchange.
    ///   - anyOrigin: whether a request to another scheme, host or port than the recorded one is answered too, as a
    ///     ``MockServer`` needs; false by default. A request to a host of the archive finds only exchanges of that
    ///     host. Redirects to the archive's hosts become relative.
    /// - Returns: stubs that answer with the exchanges of the archive.
    public func stubs(matching match: RecordingMatch, anyOrigin: Bool = false) -> [Stub] {
        let hosts =
            anyOrigin ? Set(entries.map { TargetText($0.request.url).origin }) : nil
        switch match {
        case .request: return grouped(by: \.key).map { stub(of: $0, true, hosts) }
        case .methodAndURL:
            return grouped { entry in
                let key = entry.key
                return ArchivedExchange.Key(
                    method: key.method, url: key.url, body: nil, isWebSocket: key.isWebSocket)
            }.map { stub(of: $0, false, hosts) }
        case .order: return ordered(hosts)
        }
    }

    private func stub(of entries: [ArchivedExchange], _ comparesContent: Bool, _ hosts: Set<String>?) -> Stub {
        ArchivedExchange.stub(of: entries, comparesContent: comparesContent, hosts: hosts)
    }

    /// Returns the exchanges grouped by key; groups with known content come before groups that match any content.
    private func grouped(by key: (ArchivedExchange) -> ArchivedExchange.Key) -> [[ArchivedExchange]] {
        var groups: [(key: ArchivedExchange.Key, entries: [ArchivedExchange])] = []
        var places: [ArchivedExchange.Key: Int] = [:]
        for entry in entries {
            let key = key(entry)
            if let place = places[key] {
                groups[place].entries.append(entry)
            } else {
                places[key] = groups.count
                groups.append((key, [entry]))
            }
        }
        return groups.filter { $0.key.body != nil }.map(\.entries)
            + groups.filter { $0.key.body == nil }.map(\.entries)
    }

    /// Returns one stub for each exchange; each stub answers once, after all earlier stubs have answered.
    private func ordered(_ hosts: Set<String>?) -> [Stub] {
        let order = UUID.random()
        return entries.indices.map { index in
            stub(of: [entries[index]], true, hosts).once(Stub.OrderPosition(order: order, number: index))
        }
    }
}

extension Data {
    /// The data without a byte order mark, which browsers on Windows write.
    var withoutByteOrderMark: Data {
        starts(with: [0xEF, 0xBB, 0xBF]) ? Data(dropFirst(3)) : self
    }
}

extension Session {
    /// A session that answers from a recording, and fails requests that are not in it.
    ///
    /// - Parameters:
    ///   - recording: the exchanges.
    ///   - match: how a request finds its exchange; by method, URL and content, by default.
    ///   - clock: the session's clock; a ``TestClock`` advances when the test says so.
    ///   - interceptor: adapts and retries every request.
    ///   - eventMonitors: are notified of every event; none by default.
    /// - Returns: a session with its own cookies, credentials and cache, all in memory.
    public static func replaying(
        _ recording: Recording, matching match: RecordingMatch = .request, clock: any SessionClock = SystemClock(),
        interceptor: (any RequestInterceptor)? = nil,
        eventMonitors: [any EventMonitor] = []
    ) -> Session {
        stubbed(clock: clock, interceptor: interceptor, eventMonitors: eventMonitors) {
            recording.stubs(matching: match)
        }
    }
}
