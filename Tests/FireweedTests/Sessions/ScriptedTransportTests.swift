import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Sessions on a transport of one's own", .timeLimit(.minutes(Patience.minutes)))
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
            await session.request("https://any.example/").serializingData().response.error?.urlErrorCode
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
        #expect(Set(seen.all.first ?? []) == ["Accept-Encoding", "Accept-Language", "User-Agent", "X-Own"])
    }
}
