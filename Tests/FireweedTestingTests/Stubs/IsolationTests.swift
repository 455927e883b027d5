import FireweedTesting
import Foundation
import Testing

@Suite("Isolation of stubbed sessions", .timeLimit(.minutes(testTimeoutMinutes)))
struct IsolationTests {
    @Test("a thousand sessions answer at once, and none sees another's requests")
    func parallel() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<1000 {
                group.addTask {
                    let session = Session.stubbed {
                        Stub.get("/users/{id}").reply(.json(["id": .integer(Int64(index)), "name": "u"]))
                    }
                    let user = try await session.request("\(api)/users/\(index)").serializingDecodable(
                        User.self
                    ).value
                    #expect(user.id == index)
                    #expect(session.stubs.requests.map(\.path) == ["/users/\(index)"])
                    try session.stubs.expectAllCalled()
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("cookies and stored responses belong to one session, whatever its configuration")
    func stores() async throws {
        for _ in 0..<2 {
            let session = Session.stubbed(configuration: .af.default) {
                Stub.get("/stored").reply(.text("a", headers: ["Cache-Control": "max-age=600"]))
                Stub.get("/set").reply(.text("a", headers: ["Set-Cookie": "s=1; Max-Age=600"]))
                Stub.get("/get").reply { .text($0.cookies["s"] ?? "none") }
            }
            for path in ["stored", "stored", "set"] {
                _ = await session.request("\(api)/\(path)").serializingData().response
                await session.flushResponseStore()
            }
            #expect(try await session.request("\(api)/get").serializingString().value == "1")
            #expect(session.stubs.requests.map(\.path) == ["/stored", "/set", "/get"])
        }
        let shared = URLSessionConfiguration.af.default.httpCookieStorage?.cookies ?? []
        #expect(!shared.contains { $0.domain == "api.example.com" })
    }

    @Test("a session that pins can be stubbed")
    func pinning() async throws {
        let manager = ServerTrustManager(evaluators: [
            "api.example.com": PinnedCertificatesTrustEvaluator(certificates: [])
        ])
        let session = Session.stubbed(serverTrustManager: manager) { Stub.any().reply(.text("a")) }
        #expect(try await session.request("\(api)/").serializingString().value == "a")
    }
}
