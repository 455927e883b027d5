// The instruments of messages, by their labels.

#if SwiftMetrics
import CoreMetrics
import FireweedTransport
import Glibc
import Synchronization

/// The instruments of one kind of target: those whose labels are known when a message is sent.
final class MessageTarget: Sendable {
    /// The labels of a target.
    struct Key: Hashable, Sendable {
        var method: String
        var scheme: String
        var address: String
        var port: Int
        var template: String
    }

    let key: Key
    /// The series of the last outcome: most messages of a target end alike.
    private let last = Mutex<(outcome: MessageOutcome, series: MessageSeries)?>(nil)
    let active: (any MeterHandler)?
    let wait: (any TimerHandler)?

    init(_ key: Key, _ options: MetricsOptions) {
        self.key = key
        let factory = options.effectiveFactory
        active =
            options.measures.contains(.activeRequests)
            ? factory.makeMeter(label: "http.client.active_requests", dimensions: options.labels(key.labels(options)))
            : nil
        wait =
            options.measures.contains(.connectionWait)
            ? factory.makeTimer(inSeconds: "fireweed.client.connection.wait", options.labels(key.address(options)))
            : nil
    }
}

extension MessageTarget {
    /// The series of an outcome, if that was the last one.
    func lastSeries(after outcome: MessageOutcome) -> MessageSeries? {
        last.withLock { last in last?.outcome == outcome ? last?.series : nil }
    }

    func noteLast(_ series: MessageSeries, after outcome: MessageOutcome) {
        last.withLock { $0 = (outcome, series) }
    }
}

/// The last target, which is found again without reading the URL: most messages of a session go to one origin.
private final class LastTarget: Sendable {
    let target: MessageTarget
    private let method: String
    private let template: String
    /// Scheme and authority of the URL.
    private let origin: [UInt8]

    init?(_ target: MessageTarget, of message: borrowing RequestMessage, template: String) {
        var url = message.url
        let origin: [UInt8]? = url.withUTF8 { bytes in
            guard let colon = bytes.firstIndex(of: 0x3A), bytes[colon...].starts(with: [0x3A, 0x2F, 0x2F]) else {
                return nil
            }
            return Array(bytes[..<(bytes[(colon + 3)...].firstIndex(where: Self.endsAuthority) ?? bytes.endIndex)])
        }
        guard let origin else { return nil }
        (self.target, method, self.template, self.origin) = (target, message.method, template, origin)
    }

    func isTarget(of message: borrowing RequestMessage, template: String) -> Bool {
        guard method == message.method, self.template == template else { return false }
        var url = message.url
        return url.withUTF8 { bytes in
            guard let start = bytes.baseAddress, bytes.count >= origin.count,
                memcmp(start, origin, origin.count) == 0
            else { return false }
            return bytes.count == origin.count || Self.endsAuthority(bytes[origin.count])
        }
    }

    /// Whether a byte ends the authority of a URL (RFC 3986 §3.2).
    private static func endsAuthority(_ byte: UInt8) -> Bool { byte == 0x2F || byte == 0x3F || byte == 0x23 }
}

extension MessageTarget.Key {
    var addressText: String { "\(address):\(port)" }

    /// Address and port.
    func address(_ options: MetricsOptions) -> [(String, String)] {
        [("server.address", address), ("server.port", String(port))]
    }

    /// All labels that are known when a message is sent.
    func labels(_ options: MetricsOptions) -> [(String, String)] {
        let labels = [("http.request.method", method)] + address(options) + [("url.template", template)]
        return options.hasScheme ? labels + [("url.scheme", scheme)] : labels
    }
}

/// The instruments whose labels are known when a message has ended.
final class MessageSeries: Sendable {
    let duration: (any TimerHandler)?
    let requestSize: (any RecorderHandler)?
    let responseSize: (any RecorderHandler)?

    init(_ labels: [(String, String)], _ options: MetricsOptions) {
        let (factory, measures) = (options.effectiveFactory, options.measures)
        duration =
            measures.contains(.duration)
            ? factory.makeTimer(inSeconds: "http.client.request.duration", labels) : nil
        requestSize =
            measures.contains(.requestBodySize)
            ? factory.makeRecorder(label: "http.client.request.body.size", dimensions: labels, aggregate: true) : nil
        responseSize =
            measures.contains(.responseBodySize)
            ? factory.makeRecorder(label: "http.client.response.body.size", dimensions: labels, aggregate: true) : nil
    }
}

/// Finds instruments by their labels, or makes them; the options limit the number of label values.
///
/// The instruments are kept here, since a factory looks them up under a lock of its own each time.
final class MessageInstruments: Sendable {
    fileprivate struct SeriesKey: Hashable {
        var target: MessageTarget.Key
        var outcome: MessageOutcome
    }

    fileprivate struct State {
        var addresses: BoundedNames
        var templates: BoundedNames
        var targets: [MessageTarget.Key: MessageTarget] = [:]
        var series: [SeriesKey: MessageSeries] = [:]
        /// The number of series of each address.
        var seriesCounts: [String: Int] = [:]
        /// The instruments of all messages beyond the limit of `series`.
        var overflow: MessageSeries?
        var last: LastTarget?
    }

    /// The value of a label beyond a limit, or of an invalid status.
    static let other = "_OTHER"
    private static let otherTarget = MessageTarget.Key(
        method: other, scheme: other, address: other, port: 0, template: other)

    /// The clock of the transport, which durations are measured by.
    let clock: any SessionClock
    private let options: MetricsOptions
    private let state: Mutex<State>

    init(_ options: MetricsOptions, clock: any SessionClock) {
        self.options = options
        self.clock = clock
        state = Mutex(
            State(
                addresses: BoundedNames(limit: options.addressLimit),
                templates: BoundedNames(limit: options.templateLimit)))
    }

    /// The instruments of a message's target.
    func target(of message: borrowing RequestMessage) -> MessageTarget {
        let template = message.owner?.urlTemplate ?? ""
        let last = state.withLock { $0.last }
        if let last, last.isTarget(of: message, template: template) { return last.target }
        let found = lookUp(message, template)
        let next = LastTarget(found, of: message, template: template)
        state.withLock { $0.last = next }
        return found
    }

    private func lookUp(_ message: borrowing RequestMessage, _ template: String) -> MessageTarget {
        let url = try? RequestTarget(message.url)
        var key = MessageTarget.Key(
            method: MethodName(message.method).known, scheme: url.map { $0.isSecure ? "https" : "http" } ?? "",
            address: url?.canonicalHost ?? "", port: url?.port ?? 0, template: template)
        if !options.hasScheme { key.scheme = "" }
        let isFollowing = message.owner.map { $0.messageNumber > 0 } ?? false
        let known = state.withLock { state -> MessageTarget? in
            state.bound(&key, seriesLimit: options.seriesLimit, isFollowing: isFollowing)
            return state.targets[key]
        }
        if let known { return known }
        // Outside the lock: the factory may have a lock of its own.
        let made = MessageTarget(key, options)
        return state.withLock { state in
            let first = state.targets[key] ?? made
            state.targets[key] = first
            return first
        }
    }

    /// The instruments of a message that has ended.
    func series(of target: MessageTarget, _ outcome: MessageOutcome) -> MessageSeries {
        if let last = target.lastSeries(after: outcome) { return last }
        let key = SeriesKey(target: target.key, outcome: outcome)
        let (known, isFull) = state.withLock { state in (state.series[key], state.isFull(for: key, options)) }
        if known == nil, isFull { return overflow() }
        let series = known ?? add(MessageSeries(labels(of: target.key, outcome), options), key)
        target.noteLast(series, after: outcome)
        return series
    }

    private func add(_ made: MessageSeries, _ key: SeriesKey) -> MessageSeries {
        state.withLock { state in
            if let first = state.series[key] { return first }
            state.series[key] = made
            state.seriesCounts[key.target.addressText, default: 0] += 1
            return made
        }
    }

    private func overflow() -> MessageSeries {
        if let known = state.withLock({ $0.overflow }) { return known }
        let labels = labels(of: Self.otherTarget, MessageOutcome()).map { name, value in
            (name, name == "server.port" ? value : Self.other)
        }
        let made = MessageSeries(labels, options)
        return state.withLock { state in
            let first = state.overflow ?? made
            state.overflow = first
            return first
        }
    }

    private func labels(of target: MessageTarget.Key, _ outcome: MessageOutcome) -> [(String, String)] {
        options.labels(
            target.labels(options) + [
                ("error.type", outcome.errorType), ("http.response.status_code", outcome.statusText),
                ("network.protocol.version", outcome.version),
            ])
    }
}

extension MessageInstruments.State {
    /// Whether no series may be added: `seriesLimit` is reached, or half of it for this address, since a server chooses
    /// its statuses.
    fileprivate func isFull(for key: MessageInstruments.SeriesKey, _ options: MetricsOptions) -> Bool {
        series.count >= options.seriesLimit
            || seriesCounts[key.target.addressText, default: 0] >= max(1, options.seriesLimit / 2)
    }

    /// Replaces labels of a target that exceed a limit by `other`.
    ///
    /// `isFollowing`: whether the message is not the first of its request. A server may have chosen its address, by a
    /// redirect: a new address is then admitted only while less than half of the address limit is used.
    fileprivate mutating func bound(_ key: inout MessageTarget.Key, seriesLimit: Int, isFollowing: Bool) {
        if targets[key] != nil { return }
        if !addresses.admit(key.addressText, upToHalf: isFollowing) {
            (key.address, key.port) = (MessageInstruments.other, 0)
        }
        if !key.template.isEmpty, !templates.admit(key.template) { key.template = MessageInstruments.other }
        if targets[key] == nil, targets.count >= seriesLimit { key = MessageInstruments.otherTarget }
    }
}

/// The first names that were admitted, up to a limit.
struct BoundedNames: Sendable {
    private var names: Set<String> = []
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// Whether a name is admitted: a known name always, a new name while there are fewer names than `limit`, or than
    /// half of `limit` with `upToHalf`.
    mutating func admit(_ name: String, upToHalf: Bool = false) -> Bool {
        if names.contains(name) { return true }
        guard names.count < (upToHalf ? limit / 2 : limit) else { return false }
        names.insert(name)
        return true
    }
}

extension MetricsFactory {
    /// Makes a timer that is best shown in seconds.
    func makeTimer(inSeconds label: String, _ labels: [(String, String)]) -> any TimerHandler {
        let timer = makeTimer(label: label, dimensions: labels)
        timer.preferDisplayUnit(.seconds)
        return timer
    }
}
#endif
