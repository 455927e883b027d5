// Exchanges that were recorded, as stubs.

public import Fireweed
public import Foundation

/// Exchanges of an HTTP archive (HAR 1.2), as browsers' developer tools and `HARRecorder` write it.
///
/// ```swift
/// let recording = try Recording(contentsOf: url)
/// let session = Session.replaying(recording)
/// ```
///
/// An exchange answers a request with the same method and URL, query included, and with the same content where the
/// archive has it. Of several exchanges that match, each answers once, in the order of the archive; the last one
/// answers from then on. What was not recorded fails with `UnmatchedRequestError`, which shows the nearest exchange.
public struct Recording: Sendable {
    /// How many exchanges there are.
    public var count: Int { entries.count }
    /// When the first exchange was recorded; `nil` when the archive does not say.
    public let date: Date?
    let entries: [ArchivedExchange]

    /// Reads a file.
    ///
    /// - Throws: what `Data(contentsOf:)` and `init(har:)` throw.
    public init(contentsOf url: URL) throws {
        try self.init(har: Data(contentsOf: url))
    }

    /// Reads an archive.
    ///
    /// - Parameter har: the JSON.
    /// - Throws: `DecodingError` when it is not an archive.
    public init(har: Data) throws {
        // Browsers on Windows write a byte order mark.
        let json = har.starts(with: [0xEF, 0xBB, 0xBF]) ? har.dropFirst(3) : har
        let archive = try JSONDecoder().decode(ArchivedExchange.Archive.self, from: json)
        entries = archive.log.entries
        date = entries.compactMap(\.startedDateTime).first.flatMap(Self.date)
    }

    private static func date(_ text: String) -> Date? {
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        if let date = formatter.date(from: text) { return date }
        formatter.formatOptions = .withInternetDateTime
        return formatter.date(from: text)
    }

    /// Expects that the recording is not older than so long.
    ///
    /// - Parameter now: the date to compare with; the machine's, by default.
    /// - Throws: `StubExpectationError` when it is older; an archive without dates passes.
    public func expect(noOlderThan age: Duration, now: Date = Date()) throws {
        guard let date, now.timeIntervalSince(date) > age.seconds else { return }
        throw StubExpectationError(
            description:
                "The recording is of \(date), and is to be no older than \(age): record it again.")
    }

    /// The exchanges as stubs, for a session or a server.
    public var stubs: [Stub] {
        var groups: [(key: ArchivedExchange.Key, entries: [ArchivedExchange])] = []
        var places: [ArchivedExchange.Key: Int] = [:]
        for entry in entries {
            if let place = places[entry.key] {
                groups[place].entries.append(entry)
            } else {
                places[entry.key] = groups.count
                groups.append((entry.key, [entry]))
            }
        }
        // Exchanges whose content is known are asked before those that answer every content.
        return (groups.filter { $0.key.body != nil } + groups.filter { $0.key.body == nil }).map {
            group in
            ArchivedExchange.stub(of: group.key, group.entries)
        }
    }
}

extension Session {
    /// A session that answers from a recording, and fails what is not in it; the parameters are as in `stubbed`.
    ///
    /// - Parameter recording: the exchanges.
    public static func replaying(
        _ recording: Recording, clock: any SessionClock = SystemClock(),
        interceptor: (any RequestInterceptor)? = nil,
        eventMonitors: [any EventMonitor] = []
    ) -> Session {
        stubbed(clock: clock, interceptor: interceptor, eventMonitors: eventMonitors) {
            recording.stubs
        }
    }
}
