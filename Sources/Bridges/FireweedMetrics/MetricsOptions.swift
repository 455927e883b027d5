// Settings of a session's metrics.

#if SwiftMetrics
public import CoreMetrics
public import Fireweed

/// Settings of a ``MetricsTransport``, and of ``ConnectionMetrics``.
///
/// A metric always has the same label names, since some backends, such as swift-prometheus, otherwise end the process;
/// a label without a value has an empty one. Give all sessions of a process the same settings.
public struct MetricsOptions: Sendable {
    /// The metrics of a message.
    public struct Measures: OptionSet, Sendable, Hashable {
        /// One bit for each metric.
        public let rawValue: UInt8

        /// Makes a set from bits.
        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// `http.client.request.duration`: from the start of a message to the end of its response, in seconds.
        public static let duration = Measures(rawValue: 1 << 0)
        /// `http.client.active_requests`: messages in flight.
        public static let activeRequests = Measures(rawValue: 1 << 1)
        /// `http.client.request.body.size`: bytes of content that were sent.
        public static let requestBodySize = Measures(rawValue: 1 << 2)
        /// `http.client.response.body.size`: bytes of content that were received, before the content coding is decoded.
        public static let responseBodySize = Measures(rawValue: 1 << 3)
        /// `fireweed.client.connection.wait`: how long a message was queued for a connection, in seconds.
        public static let connectionWait = Measures(rawValue: 1 << 4)

        /// All metrics.
        public static let all: Measures = [
            .duration, .activeRequests, .requestBodySize, .responseBodySize, .connectionWait,
        ]
    }

    /// Makes the instruments.
    ///
    /// `nil`, the default, takes the factory that `MetricsSystem` has when an instrument is made.
    public var factory: (any MetricsFactory)?
    /// The metrics to record; durations and active requests by default.
    public var measures: Measures
    /// The number of addresses with labels of their own, 100 by default; further addresses share `_OTHER` with the port
    /// 0.
    public var addressLimit: Int
    /// The number of URL templates with labels of their own, 100 by default; further templates share `_OTHER`.
    public var templateLimit: Int
    /// The number of sets of labels that a metric has, 2000 by default; further messages share one set, in which each
    /// label is `_OTHER` and the port 0.
    public var seriesLimit: Int
    /// Whether there is a label `url.scheme`; false by default.
    public var hasScheme: Bool
    /// Whether labels without a value are left out, as OpenTelemetry's conventions require; false by default.
    ///
    /// For backends that can take one metric with different labels, such as those of OTLP; not for swift-prometheus.
    public var omitsEmptyLabels: Bool

    /// Makes settings.
    ///
    /// - Parameters:
    ///   - factory: makes the instruments; `nil`, the default, takes the factory of `MetricsSystem`.
    ///   - measures: the metrics to record; durations and active requests by default.
    ///   - addressLimit: the number of addresses with labels of their own; 100 by default.
    ///   - templateLimit: the number of URL templates with labels of their own; 100 by default.
    ///   - seriesLimit: the number of sets of labels that a metric has; 2000 by default.
    ///   - hasScheme: whether there is a label `url.scheme`; false by default.
    ///   - omitsEmptyLabels: whether labels without a value are left out; false by default.
    public init(
        factory: (any MetricsFactory)? = nil, measures: Measures = [.duration, .activeRequests],
        addressLimit: Int = 100, templateLimit: Int = 100, seriesLimit: Int = 2000, hasScheme: Bool = false,
        omitsEmptyLabels: Bool = false
    ) {
        self.factory = factory
        self.measures = measures
        self.addressLimit = addressLimit
        self.templateLimit = templateLimit
        self.seriesLimit = seriesLimit
        self.hasScheme = hasScheme
        self.omitsEmptyLabels = omitsEmptyLabels
    }

    /// The factory to use now: `factory`, else that of `MetricsSystem`.
    var effectiveFactory: any MetricsFactory { factory ?? MetricsSystem.factory }

    /// Returns the labels for an instrument, without the empty ones if `omitsEmptyLabels` is set.
    func labels(_ labels: [(String, String)]) -> [(String, String)] {
        omitsEmptyLabels ? labels.filter { !$0.1.isEmpty } : labels
    }
}

extension SessionOptions {
    /// Measures each message of the session.
    ///
    /// The messages go through a ``MetricsTransport`` after the guards that the options already have: a message that
    /// such a guard refuses is not measured.
    ///
    /// ```swift
    /// let session = Session(options: SessionOptions().measured())
    /// ```
    ///
    /// - Parameter options: the factory, the metrics and their labels.
    /// - Returns: the options with metrics.
    public func measured(_ options: MetricsOptions = MetricsOptions()) -> SessionOptions {
        var measured = self
        measured.guards.append(MetricsGuard(options: options))
        return measured
    }
}

/// Wraps a session's transport in a ``MetricsTransport``.
private struct MetricsGuard: TransportGuard {
    let options: MetricsOptions

    func guarding(_ transport: any Transport) -> any Transport { MetricsTransport(transport, options: options) }
}
#endif
