import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Response head handlers and content limits", .timeLimit(.minutes(TestTimeouts.minutes)))
struct BodyLimitTests {
    let server: FixtureServer

    init() throws {
        server = try FixtureServer.start()
    }

    @Test("the head is shown before the content, which waits for the decision", arguments: [true, false])
    func disposition(isAllowed: Bool) async throws {
        let session = Session.isolated()
        let queue = DispatchQueue(label: "heads")
        let request = session.request(server.url("/bytes/300000"))
        request.onHTTPResponse(on: queue) { response, decide in
            dispatchPrecondition(condition: .onQueue(queue))
            #expect(response.statusCode == 200 && request.data == nil)
            decide(isAllowed ? .allow : .cancel)
            decide(.allow)  // a second decision decides nothing
        }
        let response = await request.serializingData().response
        #expect(response.value?.count == (isAllowed ? 300_000 : nil))
        #expect((response.error?.isExplicitlyCancelledError == true) == !isAllowed)
        #expect(request.response?.statusCode == 200)
    }

    @Test("a decision may take its time, and the request may be cancelled meanwhile")
    func lateDecision() async throws {
        let session = Session.isolated()
        let decisions = AsyncStream<@Sendable (Request.ResponseDisposition) -> Void>.makeStream()
        for isCancelled in [false, true] {
            let request = session.request(server.url("/bytes/10"))
            request.onHTTPResponse(on: .global()) { _, decide in decisions.continuation.yield(decide) }
            let task = request.serializingData()
            for await decide in decisions.stream.prefix(1) {
                if isCancelled { request.cancel() }
                decide(.allow)
            }
            #expect((await task.response.error == nil) == !isCancelled)
        }
    }

    @Test("a handler that only looks lets everything go on; each attempt shows its head")
    func look() async throws {
        let statuses = ProtectedList<Int>()
        let session = Session.isolated(interceptor: RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0.001))
        let request = session.request(server.url("/status/503")).validate()
            .onHTTPResponse(on: .global()) { statuses.append($0.statusCode) }
        #expect(await request.serializingData().response.error?.responseCode == 503)
        #expect(statuses.all == [503, 503])
    }

    @Test("content up to the limit comes, and a byte more is an error that says so", arguments: [1000, 1001])
    func bodyLimit(count: Int) async throws {
        var options = TransportOptions()
        options.maximumBodyByteCount = 1000
        let session = Session.isolated(transportOptions: options)
        for path in ["/bytes/\(count)", "/stream-bytes/\(count)"] {
            let response = await session.request(server.url(path)).serializingData().response
            let download = await session.download(server.url(path)).serializingData().response
            guard count > 1000 else {
                #expect(response.value?.count == count && download.value?.count == count)
                continue
            }
            for error in [response.error, download.error] {
                #expect(error?.urlErrorCode == .dataLengthExceedsMaximum)
                #expect(error?.errorDescription?.contains("longer than the limit of 1000 bytes") == true)
            }
        }
    }

    @Test("the limit holds for what a content coding unpacks to")
    func bomb() async throws {
        var options = TransportOptions()
        options.maximumBodyByteCount = 100
        let session = Session.isolated(transportOptions: options)
        let error = await session.request(server.url("/gzip")).serializingData().response.error
        #expect(error?.urlErrorCode == .dataLengthExceedsMaximum)
    }
}
