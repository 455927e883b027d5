import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Metrics of failed exchanges", .timeLimit(.minutes(TestTimeouts.minutes)))
struct UnfinishedMetricsTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test("a time-out and a cancel take as long as they took")
    func duration() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold])
        let session = Session.isolated()
        let clock = ContinuousClock()
        let start = clock.now
        let late = session.request(server.url()) { $0.timeoutInterval = 2 }
        #expect(await late.serializingData().response.error?.urlErrorCode == .timedOut)
        let whole = start.duration(to: clock.now)
        let metrics = try #require(late.metrics)
        #expect(metrics.taskInterval.duration >= 2)
        #expect(.seconds(metrics.taskInterval.duration) <= whole)
        let transaction = try #require(metrics.transactionMetrics.first)
        #expect(transaction.requestStartDate != nil && transaction.responseStartDate == nil)
        #expect(transaction.countOfRequestHeaderBytesSent > 0)
        #expect(transaction.resourceFetchType == .networkLoad)

        let cancelled = session.request(server.url())
        let response = cancelled.serializingData()
        try await server.events.first { if case .head(1, _) = $0 { true } else { false } }
        // Something that takes a known time goes by while the request waits for its answer.
        let meanwhile = session.request(server.url()) { $0.timeoutInterval = 0.3 }
        _ = await meanwhile.serializingData().response
        cancelled.cancel()
        _ = await response.response
        #expect(try #require(cancelled.metrics).taskInterval.duration >= 0.3)
        let first = try #require(cancelled.metrics?.transactionMetrics.first)
        #expect(try #require(first.responseEndDate) >= (try #require(first.requestStartDate)))
    }

    @Test("the time that a task of the loop's executor took before is not the request's")
    func busyExecutor() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Self.answer), .hold])
        let session = Session.isolated()
        let executor = try #require(session.executor)
        try await Task(executorPreference: executor) {
            let clock = ContinuousClock()
            let begin = clock.now
            while begin.duration(to: clock.now) < .milliseconds(50) {}
            let start = clock.now
            let request = session.request(server.url())
            _ = try await request.serializingData().value
            let whole = start.duration(to: clock.now)
            #expect(.seconds(try #require(request.metrics).taskInterval.duration) <= whole)
        }.value
    }

    @Test("a request that is cancelled in line, or as it begins, has sent nothing and says so")
    func nothingSent() async throws {
        let server = try ScriptedServer.start(
            [
                .receiveHead, .send(Self.answer), .receiveHead, .wait(for: "go"), .send(Self.answer), .hold,
            ], [.receiveHead, .hold])
        let session = Session.isolated { $0.httpMaximumConnectionsPerHost = 1 }
        // An earlier transfer, whose numbers the handle keeps.
        _ = try await session.request(server.url()).serializingData().value
        let first = session.request(server.url()).serializingData()
        try await server.events.nth(2) { if case .head = $0 { true } else { false } }
        let start = Date()
        let waiting = session.request(server.url())
        let response = waiting.serializingData()
        waiting.cancel()
        #expect(await response.response.error?.isExplicitlyCancelledError == true)
        server.signal("go")
        _ = try await first.value
        var metrics = [waiting.metrics]
        for _ in 0..<50 {
            let request = session.request(server.url())
            let response = request.serializingData()
            request.cancel()
            _ = await response.response
            metrics.append(request.metrics)
        }
        for transaction in metrics.compactMap({ $0?.transactionMetrics.first })
        where transaction.requestStartDate == nil {
            #expect(transaction.resourceFetchType == .unknown)
            #expect(
                transaction.countOfRequestHeaderBytesSent == 0 && transaction.countOfResponseHeaderBytesReceived == 0)
            #expect(transaction.remotePort == nil && transaction.responseStartDate == nil)
            #expect(try #require(transaction.fetchStartDate) >= start.addingTimeInterval(-1))
        }
        // None of these was answered: what an earlier exchange received is none of theirs.
        #expect(metrics.compactMap { $0?.transactionMetrics.first }.allSatisfy { $0.response == nil })
    }

    @Test("what waited in line for a connection has waited before it was looked up and sent")
    func line() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .wait(for: "go"), .send(Self.answer), .receiveHead, .send(Self.answer), .hold])
        let session = Session.isolated { $0.httpMaximumConnectionsPerHost = 1 }
        let first = session.request(server.url()).serializingData()
        try await server.events.first { if case .head = $0 { true } else { false } }
        let second = session.request(server.url())
        let response = second.serializingData()
        await eventually("the second one is in line") { session.statistics.waiting == 1 }
        let before = Date()
        server.signal("go")
        _ = try await first.value
        #expect(await response.response.error == nil)
        let transaction = try #require(second.metrics?.transactionMetrics.first)
        #expect(try #require(transaction.fetchStartDate) <= before)
        #expect(try #require(transaction.requestStartDate) >= before)
        #expect(try #require(transaction.responseEndDate) >= (try #require(transaction.responseStartDate)))
    }
}
