// Traces through the messages of a request.

import Fireweed
import FireweedTesting
import FireweedTracing
import FixtureServer
import Foundation
import InMemoryTracing
import Synchronization
import Testing
import Tracing

@Suite("Traces through a session", .timeLimit(.minutes(TestTimeouts.minutes)))
struct TracePropagationTests {
    private let stage = TracedStage()

    /// The span that each message has named to the server.
    private func injected(_ server: FixtureServer) -> [[String]] { server.values(of: InMemoryTracer.spanIDKey) }

    /// The spans but the caller's, all of which have to be its children.
    private func children(of name: String) throws -> [FinishedInMemorySpan] {
        let parent = try #require(stage.spans.first { $0.operationName == name })
        let children = stage.spans.filter { $0.operationName != name }
        #expect(children.allSatisfy { $0.parentSpanID == parent.spanID && $0.traceID == parent.traceID })
        return children
    }

    // MARK: Messages of one request

    @Test("a redirect has a span for each message, with a context of its own")
    func redirect() async throws {
        let server = try FixtureServer.start()
        let session = stage.session()
        await stage.tracer.withSpan("caller") { _ in
            _ = await session.request(server.url("/redirect-to?url=/status/404")).serializingData().response
        }
        let spans = try children(of: "caller")
        #expect(spans.map { $0.attributes.get("http.response.status_code") } == [.int64(302), .int64(404)])
        #expect(spans.map { $0.attributes.get("http.request.resend_count") } == [nil, .int64(1)])
        #expect(injected(server) == spans.map { [$0.spanID] })
    }

    @Test("retries count on")
    func retries() async throws {
        let server = try FixtureServer.start()
        let answers = Mutex([503, 503, 200])
        server.route("/answer") { _ in FixtureResponse(status: answers.withLock { $0.removeFirst() }) }
        let session = stage.session(interceptor: RetryPolicy(exponentialBackoffScale: 0))
        await stage.tracer.withSpan("caller") { _ in
            _ = await session.request(server.url("/answer")).validate().serializingData().response
        }
        let spans = try children(of: "caller")
        #expect(spans.map { $0.attributes.get("http.request.resend_count") } == [nil, .int64(1), .int64(2)])
        #expect(spans.map { $0.attributes.get("error.type") } == [.string("503"), .string("503"), nil])
        #expect(injected(server) == spans.map { [$0.spanID] })
    }

    @Test("an answer to a challenge is a message of its own")
    func digest() async throws {
        let server = try FixtureServer.start()
        let session = stage.session()
        let request = session.request(server.url("/digest-auth/auth/u/p"))
            .authenticate(username: "u", password: "p", persistence: .none)
        _ = await request.serializingData().response
        #expect(stage.statuses == [.int64(401), .int64(200)] && stage.resendCounts == [nil, .int64(1)])
    }

    // MARK: The caller's context

    @Test("made in a span, resumed and awaited in a detached task: the spans are the caller's")
    func detached() async throws {
        let server = try FixtureServer.start()
        let answers = Mutex([302, 503, 200])
        server.route("/answer") { _ in
            FixtureResponse(status: answers.withLock { $0.removeFirst() }, fields: [("Location", "/answer")])
        }
        let session = stage.session(interceptor: RetryPolicy(exponentialBackoffScale: 0))
        let request = stage.tracer.withSpan("caller") { _ in session.request(server.url("/answer")).validate() }
        await Task.detached { _ = await request.serializingData(emptyResponseCodes: [200]).response }.value
        let spans = try children(of: "caller")
        #expect(spans.map { $0.attributes.get("http.request.resend_count") } == [nil, .int64(1), .int64(2)])
    }

    @Test("the context at the resume counts, when there is one")
    func resumed() async throws {
        let server = try FixtureServer.start()
        let session = stage.session()
        let request = stage.tracer.withSpan("maker") { _ in session.request(server.url("/get")) }
        let task = stage.tracer.withSpan("caller") { _ in request.serializingData() }
        _ = await task.response
        let caller = try #require(stage.spans.first { $0.operationName == "caller" })
        #expect(stage.spans.last?.parentSpanID == caller.spanID)
    }

    @Test("a context that is set counts before the caller's; without any, a trace begins")
    func setByHand() async throws {
        let server = try FixtureServer.start()
        let session = stage.session()
        let own = stage.tracer.startSpan("own")
        await stage.tracer.withSpan("caller") { _ in
            let request = session.request(server.url("/get")).value(own.context, for: RequestServiceContext.self)
            _ = await request.serializingData().response
        }
        #expect(stage.spans.first { $0.operationName == "GET" }?.parentSpanID == own.spanID)
        own.end()
        _ = await session.request(server.url("/get")).serializingData().response
        #expect(stage.spans.last?.parentSpanID == nil && stage.spans.last?.operationName == "GET")
    }

    @Test("a thousand requests at once keep their parents")
    func thousand() async throws {
        let server = try FixtureServer.start()
        server.answer { _ in FixtureResponse(status: 204) }
        let session = stage.session { $0.httpMaximumConnectionsPerHost = 16 }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                group.addTask { [stage] in
                    await stage.tracer.withSpan("caller") { _ in
                        _ = await session.request(server.url("/n")).urlTemplate("\(number)").serializingData().response
                    }
                    _ = number
                }
            }
        }
        let callers = stage.spans.filter { $0.operationName == "caller" }
        let messages = stage.spans.filter { $0.operationName != "caller" }
        #expect(callers.count == 1000 && messages.count == 1000)
        #expect(Set(messages.map(\.parentSpanID)) == Set(callers.map(\.spanID)))
        // Each has the trace of its own parent.
        let traces = Dictionary(uniqueKeysWithValues: callers.map { ($0.spanID, $0.traceID) })
        #expect(messages.allSatisfy { $0.parentSpanID.flatMap { traces[$0] } == $0.traceID })
        #expect(stage.tracer.activeSpans.isEmpty)
    }

    // MARK: Injection

    @Test("what is injected replaces fields of the same names, on every message")
    func replaced() async throws {
        let server = try FixtureServer.start()
        let tracer = FieldTracer(base: stage.tracer)
        let options = SessionOptions().traced(TracingOptions(tracer: tracer))
        let session = Session(interceptor: .tracePropagator, options: options)
        let parent = TraceContext()
        await TraceContext.$current.withValue(parent) {
            _ = await session.request(server.url("/redirect/1"), headers: ["Baggage": "old=1", "X-Kept": "1"])
                .serializingData().response
        }
        #expect(server.values(of: "traceparent") == stage.spans.map { ["00-\($0.spanID)"] })
        #expect(server.values(of: "baggage") == [["new=1"], ["new=1"]])
        #expect(server.values(of: "x-kept") == [["1"], ["1"]])
    }

    @Test("a value that no field can have is left out")
    func unsound() async throws {
        let server = try FixtureServer.start()
        let tracer = FieldTracer(base: stage.tracer, baggage: "a=1\r\nX-Smuggled: 1")
        let session = Session(options: SessionOptions().traced(TracingOptions(tracer: tracer)))
        _ = try await session.request(server.url("/get"), headers: ["Baggage": "old=1"]).serializingData().value
        #expect(server.values(of: "baggage") == [["old=1"]] && server.values(of: "x-smuggled") == [[]])
        #expect(server.values(of: "traceparent").first?.count == 1)
    }
}

/// A tracer that writes the fields of W3C Trace Context and Baggage.
private struct FieldTracer: Tracer {
    let base: InMemoryTracer
    var baggage = "new=1"

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> InMemorySpan {
        base.startSpan(
            operationName, context: context(), ofKind: kind, at: instant(), function: function, file: fileID, line: line
        )
    }

    func forceFlush() {}

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {}

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        injector.inject("00-\(context.inMemorySpanContext?.spanID ?? "")", forKey: "traceparent", into: &carrier)
        injector.inject(baggage, forKey: "baggage", into: &carrier)
    }
}
