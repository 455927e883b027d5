import Fireweed
import FireweedTransport
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

/// Plays answers in order, and keeps the messages that they answered.
private final class Origin: Sendable {
    private let answers: Mutex<[[ScriptedTransport.Action]]>
    let messages = ProtectedList<RequestMessage>()

    init(_ answers: [[ScriptedTransport.Action]]) {
        self.answers = Mutex(answers.reversed())
    }

    func answer(_ message: RequestMessage) -> [ScriptedTransport.Action] {
        messages.append(message)
        return answers.withLock { $0.popLast() } ?? [.stall]
    }

    static func response(_ status: Int, _ fields: [String: String] = [:], _ content: String = "")
        -> [ScriptedTransport.Action]
    {
        let fields = fields.map { Field(name: $0.key, value: $0.value) }
        return [.head(ResponseHead(status: status, fields: fields)), .content(Data(content.utf8))]
    }

    func field(_ name: String, ofMessage number: Int) -> String? {
        messages.all.dropFirst(number).first?.fields.value(of: name)
    }
}

extension Session {
    fileprivate convenience init(
        _ origin: Origin, store: MemoryResponseStore? = nil, strictTransportSecurity: StrictTransportSecurity? = nil,
        waitsForConnectivity: Bool = false
    ) {
        self.init(
            transport: ScriptedTransport { origin.answer($0) },
            options: SessionOptions(
                strictTransportSecurity: strictTransportSecurity, responseStore: store,
                waitsForConnectivity: waitsForConnectivity))
    }

    fileprivate func text(_ url: String, headers: HTTPHeaders? = nil) async -> String? {
        await request(url, headers: headers).serializingString(emptyResponseCodes: [200, 401]).response.value
    }
}

@Suite("Link chain", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ChainTests {
    private static let etag = ["ETag": "\"1\"", "Cache-Control": "max-age=0"]

    @Test("a stale response answers when there is no route, also where requests wait for one")
    func staleWithoutRoute() async {
        let offline = TransferFailure.exchange(.notConnectedToInternet, detail: "no route", engineCode: 0)
        let origin = Origin([
            Origin.response(200, ["Cache-Control": "max-age=0, stale-if-error=60"], "one"), [.failure(offline)],
        ])
        let session = Session(origin, store: MemoryResponseStore(), waitsForConnectivity: true)
        #expect(await session.text("http://127.0.0.1/") == "one")
        let request = session.request("http://127.0.0.1/")
        #expect(await request.serializingString().response.value == "one")
        #expect(request.metrics?.responseSource == .cache && origin.messages.all.count == 2)
    }

    @Test("cookies of a 304 are stored")
    func cookiesOfNotModified() async {
        let origin = Origin([
            Origin.response(200, Self.etag, "one"),
            Origin.response(304, ["ETag": "\"1\"", "Set-Cookie": "a=confirmed"]), Origin.response(200),
        ])
        let session = Session(origin, store: MemoryResponseStore())
        #expect(await session.text("http://a.test/") == "one")
        #expect(await session.text("http://a.test/") == "one")
        _ = await session.text("http://a.test/other")
        #expect(origin.field("If-None-Match", ofMessage: 1) == "\"1\"")
        #expect(origin.field("Cookie", ofMessage: 2) == "a=confirmed")
    }

    @Test("a host asks for TLS by a 401, by a redirect and by a 304", arguments: [401, 302, 304])
    func strictTransportOfEveryHead(status: Int) async {
        let fields = ["Strict-Transport-Security": "max-age=60", "ETag": "\"1\"", "Location": "https://b.test/"]
        let origin = Origin([
            Origin.response(200, Self.etag, "one"), Origin.response(status, fields), Origin.response(200),
            Origin.response(200),
        ])
        let session = Session(
            origin, store: MemoryResponseStore(), strictTransportSecurity: StrictTransportSecurity(file: nil))
        _ = await session.text("https://a.test/")
        _ = await session.text("https://a.test/")
        _ = await session.text("http://a.test/x")
        #expect(origin.messages.all.last?.url == "https://a.test/x")
    }

    @Test(
        "one user's response never answers another user's request",
        arguments: [
            (["Vary": "Cookie"], "Cookie", "u=1", "u=2"), ([:], "Authorization", "token 1", "token 2"),
        ])
    func usersApart(fields: [String: String], name: String, first: String, second: String) async {
        let fields = fields.merging(["Cache-Control": "max-age=60"]) { $1 }
        let origin = Origin([Origin.response(200, fields, "first's"), Origin.response(200, fields, "second's")])
        let session = Session(origin, store: MemoryResponseStore())
        #expect(await session.text("http://a.test/", headers: [name: first]) == "first's")
        #expect(await session.text("http://a.test/", headers: [name: second]) == "second's")
        #expect(await session.text("http://a.test/", headers: [name: first]) == "first's")
        #expect(origin.messages.all.count == 2)
    }

    @Test("cookies, conditions and credentials that were added for one origin do not reach the next one")
    func nothingLeaks() async throws {
        let origin = Origin([
            Origin.response(200, ["Set-Cookie": "a=1"]), Origin.response(200, Self.etag, "one"),
            Origin.response(302, ["Location": "http://b.test/"]), Origin.response(200, [:], "two"),
        ])
        let session = Session(origin, store: MemoryResponseStore())
        _ = await session.text("http://a.test/cookie")
        #expect(await session.text("http://user:secret@a.test/") == "one")
        #expect(await session.text("http://user:secret@a.test/") == "two")
        let asked = try #require(origin.messages.all.dropFirst(2).first)
        #expect(asked.fields.contains("Cookie") && asked.fields.contains("If-None-Match"))
        let redirected = try #require(origin.messages.all.last)
        #expect(redirected.url == "http://b.test/" && redirected.credentials == nil)
        #expect(!redirected.fields.contains("Cookie") && !redirected.fields.contains("If-None-Match"))
    }

    @Test("a validation behind an answer ends with its session")
    func refreshEndsWithSession() async throws {
        let origin = Origin([
            Origin.response(200, ["Cache-Control": "max-age=0, stale-while-revalidate=60", "ETag": "\"1\""], "one")
        ])
        let transport = CountingTransport(ScriptedTransport { origin.answer($0) })
        do {
            let session = Session(transport: transport, options: SessionOptions(responseStore: MemoryResponseStore()))
            #expect(await session.text("http://a.test/") == "one")
            #expect(await session.text("http://a.test/") == "one")
            try await transport.wait { $0.begun == 2 }  // the second one stalls
            withExtendedLifetime(session) {}
        }
        try await transport.wait { $0.begun == 2 && $0.ended == 2 }
    }

    @Test("a request that waits for a handler can be suspended, and continues when it is resumed")
    func suspendedWhileWaiting() async {
        let origin = Origin([Origin.response(302, ["Location": "/new"]), Origin.response(200, [:], "new")])
        let session = Session(origin)
        let request = session.request("http://a.test/")
        let handler = Redirector.modify { _, next, _ in
            request.suspend()
            DispatchQueue.global().async { request.resume() }
            return next
        }
        #expect(await request.redirect(using: handler).serializingString().response.value == "new")
        withExtendedLifetime(session) {}
    }
}

/// Counts the transfers that have begun and ended on another transport.
private final class CountingTransport: Transport {
    struct Counts: Equatable {
        var begun = 0
        var ended = 0
    }

    private let base: ScriptedTransport
    private let log = EventLog<Counts>()
    private let counts = Mutex(Counts())

    init(_ base: ScriptedTransport) {
        self.base = base
    }

    var executor: (any TaskExecutor)? { nil }

    func makeTransfer(of message: consuming RequestMessage, for consumer: any TransferConsumer) -> any TransferControl {
        note { $0.begun += 1 }
        return base.makeTransfer(of: message, for: Listener(consumer) { [self] in note { $0.ended += 1 } })
    }

    func shutDown() { base.shutDown() }

    private func note(_ change: (inout Counts) -> Void) {
        log.note(
            counts.withLock { counts in
                change(&counts)
                return counts
            })
    }

    func wait(_ isReached: @escaping @Sendable (Counts) -> Bool) async throws {
        try await log.first(where: isReached)
    }

    /// Passes everything on, and tells of the end.
    private final class Listener: TransferConsumer {
        private let base: any TransferConsumer
        private let onEnd: @Sendable () -> Void

        init(_ base: any TransferConsumer, onEnd: @escaping @Sendable () -> Void) {
            self.base = base
            self.onEnd = onEnd
        }

        func transferDidReceive(_ head: ResponseHead) -> Flow { base.transferDidReceive(head) }
        func transferDidReceive(_ content: borrowing ContentBytes) -> Flow { base.transferDidReceive(content) }
        func transferDidFinish(_ end: consuming TransferEnd) {
            base.transferDidFinish(end)
            onEnd()
        }
    }
}
