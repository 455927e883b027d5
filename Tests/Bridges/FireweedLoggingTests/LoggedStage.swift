// A logger, and what was written to it.

import Fireweed
import FireweedLogging
import FixtureServer
import Foundation
import FoundationNetworking
import InMemoryLogging
import Logging
import ServiceContextModule
import Synchronization

/// The trace of a caller, as a tracer has it in its context.
enum TraceKey: ServiceContextKey { typealias Value = String }

/// A logger whose metadata provider gives the trace, and sessions that write to it.
final class LoggedStage: Sendable {
    private let handler: InMemoryLogHandler
    let logger: Logger
    private let kept = Mutex<[Session]>([])

    init(level: Logger.Level = .trace) {
        var handler = InMemoryLogHandler()
        handler.logLevel = level
        let calls = CallCount()
        handler.metadataProvider = Logger.MetadataProvider {
            calls.count()
            return ServiceContext.current?[TraceKey.self].map { ["trace_id": .string($0)] } ?? [:]
        }
        let made = handler
        self.handler = made
        self.calls = calls
        logger = Logger(label: "test", factory: { _ in made })
    }

    private let calls: CallCount
    var providerCallCount: Int { calls.value }

    private final class CallCount: Sendable {
        private let number = Atomic(0)

        func count() { number.add(1, ordering: .relaxed) }
        var value: Int { number.load(ordering: .relaxed) }
    }

    func session(
        interceptor: (any RequestInterceptor)? = nil, _ logging: LoggingOptions = LoggingOptions()
    ) -> Session {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.timeoutIntervalForRequest = TimeInterval(TestTimeouts.seconds)
        return keeping(
            Session(
                configuration: configuration, interceptor: interceptor, eventMonitors: [],
                options: SessionOptions().logged(to: logger, options: logging)))
    }

    /// A session without a wire.
    func scripted(
        interceptor: (any RequestInterceptor)? = nil, _ logging: LoggingOptions = LoggingOptions(),
        answer: @escaping @Sendable (RequestMessage) -> [ScriptedTransport.Action]
    ) -> Session {
        keeping(
            Session(
                transport: ScriptedTransport(answer: answer), interceptor: interceptor, eventMonitors: [],
                options: SessionOptions().logged(to: logger, options: logging)))
    }

    /// Keeps a session to the end of the test.
    func keeping(_ session: Session) -> Session {
        kept.withLock { $0.append(session) }
        return session
    }

    var entries: [InMemoryLogHandler.Entry] { handler.entries }

    /// Level and message of each entry.
    var lines: [String] { entries.map { "\($0.level) \($0.message)" } }

    /// A value of each entry; `–` where it has none.
    func values(of key: String) -> [String] { entries.map { $0.metadata[key].map { "\($0)" } ?? "–" } }
}
