import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Sessions on a scripted transport", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ScriptedTransportTests {
    @Test("a session speaks to any transport")
    func answered() async throws {
        let session = Session(
            transport: ScriptedTransport { message in
                [
                    .head(ResponseHead(status: 201, fields: [Field(name: "X", value: message.method)])),
                    .content(Data("hello".utf8)),
                ]
            })
        let response = await session.request("https://any.example/").serializingString().response
        #expect(response.value == "hello")
        #expect(response.response?.statusCode == 201 && response.response?.headers["X"] == "GET")
    }

    @Test("a failure of the transport is the request's")
    func failed() async {
        let session = Session(
            transport: ScriptedTransport { _ in
                [.failure(.exchange(.cannotFindHost, detail: "scripted", engineCode: 0))]
            })
        #expect(
            await session.request("https://any.invalid/").serializingData().response.error?.urlErrorCode
                == .cannotFindHost)
    }

    @Test("the fields of default and request reach the transport")
    func fields() async {
        let seen = ProtectedList<[String]>()
        let session = Session(
            transport: ScriptedTransport { message in
                seen.append(message.fields.fields.map(\.name))
                return [.head(ResponseHead(status: 204, fields: []))]
            })
        _ = await session.request("https://any.example/", headers: ["X-Own": "1"]).serializingData().response
        #expect(Set(seen.all.first ?? []) == Set(HTTPHeaders.default.map(\.name) + ["X-Own"]))
    }

    @Test("a report has real times, so that a deadline of the retry policy lets the request be retried")
    func reported() async throws {
        let start = Date()
        let count = ProtectedList<Int>()
        let session = Session(
            transport: ScriptedTransport { _ in
                count.append(0)
                return [
                    .head(ResponseHead(status: count.all.count < 3 ? 503 : 200, fields: [])), .content(Data("a".utf8)),
                ]
            })
        let policy = RetryPolicy(retryLimit: 3, options: RetryOptions(deadline: .seconds(600)))
        let response = await session.request("https://any.example/", interceptor: policy).validate().serializingString()
            .response
        #expect(response.value == "a" && count.all.count == 3)
        let metrics = try #require(response.metrics)
        #expect(metrics.taskInterval.start >= start && metrics.taskInterval.end <= Date())
        #expect(metrics.transactionMetrics.last?.countOfResponseBodyBytesAfterDecoding == 1)
    }

    @Test("two sessions share neither cookies nor stored responses, with each other or with the machine")
    func apart() async {
        let sent = ProtectedList<String?>()
        let answer: @Sendable (RequestMessage) -> [ScriptedTransport.Action] = { message in
            sent.append(message.fields.fields.first { $0.name == "Cookie" }?.value)
            let fields = [
                Field(name: "Set-Cookie", value: "a=b; Max-Age=600"),
                Field(name: "Cache-Control", value: "max-age=600"),
            ]
            return [.head(ResponseHead(status: 200, fields: fields))]
        }
        for _ in 0..<2 {
            let session = Session(transport: ScriptedTransport(answer: answer))
            _ = await session.request("https://apart.example/").serializingData().response
            await session.flushResponseStore()
        }
        #expect(sent.all == [nil, nil])
    }
}
