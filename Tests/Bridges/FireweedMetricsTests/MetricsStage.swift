// A measured session, and what was measured.

import CoreMetrics
import Fireweed
import FireweedMetrics
import FixtureServer
import Foundation
import FoundationNetworking
import MetricsTestKit
import Synchronization

/// A factory that keeps every value, and sessions that are measured with it.
final class MetricsStage: Sendable {
    let factory = TestMetrics()
    private let kept = Mutex<[Session]>([])

    /// Keeps a session to the end of the test.
    private func keeping(_ session: Session) -> Session {
        kept.withLock { $0.append(session) }
        return session
    }

    func options(_ change: (inout MetricsOptions) -> Void = { _ in }) -> MetricsOptions {
        var options = MetricsOptions(factory: factory, measures: .all)
        change(&options)
        return options
    }

    func session(
        interceptor: (any RequestInterceptor)? = nil, isKept: Bool = true,
        configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> Session {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.timeoutIntervalForRequest = TimeInterval(TestTimeouts.seconds)
        configure(configuration)
        let session = Session(
            configuration: configuration, interceptor: interceptor, eventMonitors: [],
            options: SessionOptions().measured(options()))
        return isKept ? keeping(session) : session
    }

    /// A session without a wire.
    func scripted(
        _ change: (inout MetricsOptions) -> Void = { _ in },
        answer: @escaping @Sendable (RequestMessage) -> [ScriptedTransport.Action] = { _ in
            [.head(ResponseHead(status: 204, fields: []))]
        }
    ) -> Session {
        keeping(Session(transport: MetricsTransport(ScriptedTransport(answer: answer), options: options(change))))
    }

    // MARK: What was measured

    var durations: [TestTimer] { factory.timers.filter { $0.label == "http.client.request.duration" } }
    var active: [TestMeter] { factory.meters.filter { $0.label == "http.client.active_requests" } }

    /// The values of a label of the durations, for each message one, sorted.
    func values(of label: String) -> [String] {
        durations.flatMap { timer in
            timer.values.map { _ in timer.dimensions.first { $0.0 == label }?.1 ?? "–" }
        }.sorted()
    }

    /// Waits until as many messages have ended.
    func ended(_ count: Int) async {
        while durations.reduce(0, { $0 + $1.values.count }) < count { await Task.yield() }
    }

    /// Waits until as many messages are under way; a meter is made a moment before it is counted up.
    func started(_ count: Double) async {
        while active.first?.lastValue != count { await Task.yield() }
    }

    /// The names of all labels that each metric was used with.
    var labelNames: [String: Set<[String]>] {
        var names: [String: Set<[String]>] = [:]
        let all =
            factory.timers.map { ($0.label, $0.dimensions) } + factory.meters.map { ($0.label, $0.dimensions) }
            + factory.recorders.map { ($0.label, $0.dimensions) }
        for (label, dimensions) in all { names[label, default: []].insert(dimensions.map(\.0)) }
        return names
    }
}
