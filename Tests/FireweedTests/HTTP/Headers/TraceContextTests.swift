import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Trace context", .timeLimit(.minutes(TestTimeouts.minutes)))
struct TraceContextTests {
    private static let known = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test(
        "a traceparent is read as the standard says",
        arguments: [
            (known, true), ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", true),
            ("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later", true),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later", false),
            ("ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false),
            ("00-00000000000000000000000000000000-b7ad6b7169203331-01", false),
            ("00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false),
            ("00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", false),
            ("00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01", false),
            ("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", false), ("0-0-0-0", false), ("", false),
            ("----", false),
        ])
    func parse(text: String, isGood: Bool) {
        #expect((TraceContext(traceparent: text) != nil) == isGood)
    }

    @Test("what is read is written again; flags beyond the known one are dropped on the way down")
    func roundTrip() throws {
        let context = try #require(TraceContext(traceparent: Self.known, tracestate: " a=1,b=2 "))
        #expect(context.traceparent == Self.known && context.state == "a=1,b=2" && context.flags == 1)
        let child = context.child()
        #expect(child.traceID == context.traceID && child.spanID != context.spanID && child.state == "a=1,b=2")
        let odd = try #require(TraceContext(traceparent: Self.known.dropLast(2) + "ff"))
        #expect(odd.traceparent == Self.known)
        #expect(TraceContext(traceparent: Self.known, tracestate: "a\r\nb")?.state == nil)
        #expect(TraceContext(traceparent: Self.known, tracestate: String(repeating: "a", count: 600))?.state == nil)
    }

    @Test("new contexts are valid and differ")
    func new() {
        let contexts = (0..<100).map { _ in TraceContext() }
        #expect(Set(contexts.map(\.traceID)).count == 100)
        #expect(contexts.allSatisfy { TraceContext(traceparent: $0.traceparent) == $0 })
        #expect(TraceContext(isSampled: false).traceparent.hasSuffix("-00"))
    }

    @Test("requests continue the trace of their task, each retry in a span of its own")
    func propagate() async throws {
        let server = try FixtureServer.start()
        server.route("/fails") { _ in FixtureResponse(status: 503) }
        let session = Session.isolated(
            interceptor: Interceptor(
                retriers: [RetryPolicy(exponentialBackoffScale: 0)], interceptors: [.tracePropagator]))
        let parent = try #require(TraceContext(traceparent: Self.known, tracestate: "vendor=1"))
        await TraceContext.$current.withValue(parent) {
            _ = await session.request(server.url("/fails")).validate().serializingData().response
        }
        let seen = server.requests.compactMap { $0.field("traceparent").flatMap { TraceContext(traceparent: $0) } }
        #expect(seen.count == 3 && seen.allSatisfy { $0.traceID == parent.traceID })
        #expect(Set(seen.map(\.spanID)).count == 3 && !seen.map(\.spanID).contains(parent.spanID))
        #expect(server.requests.allSatisfy { $0.field("tracestate") == "vendor=1" })
    }

    @Test("without a parent a trace begins, unless that is turned off; a field of the caller's stays")
    func roots() async throws {
        let server = try FixtureServer.start()
        let sessions = [TracePropagator(), TracePropagator(beginsTraces: false), TracePropagator()]
            .map { Session.isolated(interceptor: $0) }
        for (session, headers) in zip(sessions, [[:], [:], ["traceparent": Self.known]]) {
            _ = await session.request(server.url("/get"), headers: HTTPHeaders(headers)).serializingData().response
        }
        let seen = server.requests.map { $0.field("traceparent") }
        try #require(seen.count == 3)
        #expect(seen[0].flatMap { TraceContext(traceparent: $0) } != nil)
        #expect(seen[1] == nil && seen[2] == Self.known)
    }
}
