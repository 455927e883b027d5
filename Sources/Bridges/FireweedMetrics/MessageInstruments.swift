// The instruments of messages, by their labels.

#if SwiftMetrics
import CoreMetrics
import FireweedTransport
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

extension MessageTarget.Key {
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

/// Finds instruments by their labels, and makes them; of all labels there are as many as the options allow.
///
/// A factory looks its instruments up under a lock of its own, each time: here they are kept.
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
        /// Whatever is too much.
        var overflow: MessageSeries?
    }

    /// The label of whatever has none of its own.
    static let other = "_OTHER"
    private static let otherTarget = MessageTarget.Key(
        method: other, scheme: other, address: other, port: 0, template: other)

    private let options: MetricsOptions
    private let state: Mutex<State>

    init(_ options: MetricsOptions) {
        self.options = options
        state = Mutex(
            State(
                addresses: BoundedNames(limit: options.addressLimit),
                templates: BoundedNames(limit: options.templateLimit)))
    }

    /// The instruments of a message's target.
    func target(of message: borrowing RequestMessage) -> MessageTarget {
        let url = try? RequestTarget(message.url)
        var key = MessageTarget.Key(
            method: MethodName(message.method).known, scheme: url.map { $0.isSecure ? "https" : "http" } ?? "",
            address: url?.canonicalHost ?? "", port: url?.port ?? 0, template: message.owner?.urlTemplate ?? "")
        if !options.hasScheme { key.scheme = "" }
        let known = state.withLock { state -> MessageTarget? in
            state.bound(&key, seriesLimit: options.seriesLimit)
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
        let key = SeriesKey(target: target.key, outcome: outcome)
        let (known, isFull) = state.withLock { state in
            (state.series[key], state.series.count >= options.seriesLimit)
        }
        if let known { return known }
        guard !isFull else { return overflow() }
        let made = MessageSeries(labels(of: target.key, outcome), options)
        return state.withLock { state in
            let first = state.series[key] ?? made
            state.series[key] = first
            return first
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
    /// Replaces the labels of a target that are too many.
    fileprivate mutating func bound(_ key: inout MessageTarget.Key, seriesLimit: Int) {
        if targets[key] != nil { return }
        if !addresses.admit("\(key.address):\(key.port)") {
            (key.address, key.port) = (MessageInstruments.other, 0)
        }
        if !key.template.isEmpty, !templates.admit(key.template) { key.template = MessageInstruments.other }
        if targets[key] == nil, targets.count >= seriesLimit { key = MessageInstruments.otherTarget }
    }
}

/// The first names that came, as many as a limit allows.
struct BoundedNames: Sendable {
    private var names: Set<String> = []
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// Whether a name is among the first.
    mutating func admit(_ name: String) -> Bool {
        if names.contains(name) { return true }
        guard names.count < limit else { return false }
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
