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

    @Test("a thousand tests at once use the same stubs, and each begins at their first answer")
    func shared() async throws {
        let archive = """
            {"log": {"entries": [
              {"request": {"method": "GET", "url": "\(api)/a"}, "response": {"status": 200, "content": {"text": "1"}}},
              {"request": {"method": "GET", "url": "\(api)/b"}, "response": {"status": 200, "content": {"text": "2"}}}
            ]}}
            """
        let inOrder = try Recording(har: Data(archive.utf8)).stubs(matching: .order)
        let stub = Stub.get("/flaky").reply(.text("first"), .text("later")).times(2)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<1000 {
                group.addTask {
                    let session = Session.stubbed {
                        stub
                        inOrder
                    }
                    var texts: [String] = []
                    for path in ["flaky", "a", "b", "flaky"] {
                        texts.append(try await session.request("\(api)/\(path)").serializingString().value)
                    }
                    #expect(texts == ["first", "1", "2", "later"])
                    try session.stubs.expectAllCalled()
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("a thousand requests at once are counted, each one by one stub")
    func counts() async throws {
        let session = Session.stubbed {
            Stub.get("/").reply(.text("first")).times(400)
            Stub.get("/").reply(.text("second")).times(600)
        }
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<1000 {
                group.addTask { try await session.request("\(api)/").serializingString().value }
            }
            return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(texts == ["first": 400, "second": 600])
        #expect(session.stubs.requests.count == 1000)
        try session.stubs.expectAllCalled()
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

    @Test("cookies and a cache that the configuration turns off stay off")
    func withoutStores() async throws {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        let session = Session.stubbed(configuration: configuration) {
            Stub.any().reply(.text("a", headers: ["Cache-Control": "max-age=600", "Set-Cookie": "s=1; Max-Age=600"]))
        }
        for _ in 0..<2 {
            _ = await session.request("\(api)/").serializingData().response
            await session.flushResponseStore()
        }
        #expect(session.stubs.requests.map(\.cookies) == [[:], [:]])
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
