// A traced session, and the spans that it has made.

import Fireweed
import FireweedTracing
import FixtureServer
import Foundation
import FoundationNetworking
import InMemoryTracing
import Synchronization
import Tracing

/// A tracer, and sessions that it traces.
final class TracedStage: Sendable {
    let tracer = InMemoryTracer()
    private let kept = Mutex<[Session]>([])

    /// Keeps a session to the end of the test.
    func keeping(_ session: Session) -> Session {
        kept.withLock { $0.append(session) }
        return session
    }

    func session(
        redaction: Redaction = .standard, requestHeaders: [String] = [], responseHeaders: [String] = [],
        interceptor: (any RequestInterceptor)? = nil, options: SessionOptions = SessionOptions(),
        isKept: Bool = true, configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> Session {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.timeoutIntervalForRequest = TimeInterval(TestTimeouts.seconds)
        configure(configuration)
        let tracing = TracingOptions(
            tracer: tracer, redaction: redaction, requestHeaders: requestHeaders, responseHeaders: responseHeaders)
        let session = Session(
            configuration: configuration, interceptor: interceptor, eventMonitors: [], options: options.traced(tracing))
        return isKept ? keeping(session) : session
    }

    /// Spans that have ended, in the order of their ends.
    var spans: [FinishedInMemorySpan] { tracer.finishedSpans }

    /// The attributes of each span that has ended.
    func values(of name: String) -> [SpanAttribute?] { spans.map { $0.attributes.get(name) } }

    var statuses: [SpanAttribute?] { values(of: "http.response.status_code") }
    var resendCounts: [SpanAttribute?] { values(of: "http.request.resend_count") }
    var errorTypes: [SpanAttribute?] { values(of: "error.type") }

    /// Waits until as many spans have ended, and no other is under way.
    func ended(_ count: Int) async {
        while tracer.finishedSpans.count < count || !tracer.activeSpans.isEmpty { await Task.yield() }
    }
}

extension FixtureServer {
    /// The values of a field of each request.
    func values(of name: String) -> [[String]] {
        requests.map { request in
            request.fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
        }
    }
}
