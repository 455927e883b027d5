import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Redirects in the cache", .timeLimit(.minutes(TestTimeouts.minutes)))
struct StoredRedirectTests {
    private static let moved = Data("it lives somewhere else now".utf8)

    private func session(_ asked: ProtectedList<String>, _ content: Data = moved) -> Session {
        Session(
            transport: ScriptedTransport { message in
                asked.append(message.url)
                guard message.url.hasSuffix("/old") else {
                    return [.head(ResponseHead(status: 200, fields: [])), .content(Data("new".utf8))]
                }
                let fields = [
                    Field(name: "Location", value: "/new"), Field(name: "Cache-Control", value: "max-age=60"),
                ]
                return [.head(ResponseHead(status: 301, fields: fields)), .content(content)]
            }, options: SessionOptions(responseStore: MemoryResponseStore()))
    }

    @Test(
        "a redirect that was followed is stored with its whole content, with every kind of handler",
        arguments: [nil, Redirector.follow])
    func followed(redirector: Redirector?) async throws {
        let asked = ProtectedList<String>()
        let session = session(asked)
        let request = session.request("http://a.test/old")
        if let redirector { request.redirect(using: redirector) }
        #expect(try await request.serializingString().value == "new")
        await session.flushResponseStore()
        let stored = session.request("http://a.test/old").redirect(using: Redirector.doNotFollow)
        let response = await stored.serializingData(emptyResponseCodes: [301]).response
        #expect(response.response?.statusCode == 301 && response.data == Self.moved)
        #expect(asked.all == ["http://a.test/old", "http://a.test/new"])
    }

    @Test("a redirect with more content than is worth reading is followed, and not stored")
    func large() async throws {
        let asked = ProtectedList<String>()
        let session = session(asked, Data(count: 200_000))
        for _ in 0..<2 {
            #expect(try await session.request("http://a.test/old").serializingString().value == "new")
            await session.flushResponseStore()
        }
        #expect(asked.all.count(where: { $0.hasSuffix("/old") }) == 2)
    }
}
