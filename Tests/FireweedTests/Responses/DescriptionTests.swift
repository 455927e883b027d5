import FireweedTransport
import Foundation
import FoundationNetworking
import Testing

@testable import Fireweed

@Suite("Descriptions of metrics and of socket events")
struct DescriptionTests {
    private static let secrets = ["hunter2", "s3cret", "t0ken", "opensesame"]
    private static let url = "https://user:hunter2@api.example/path?access_token=t0ken&page=2#password=s3cret"

    /// What is printed, interpolated and dumped of a value.
    private func texts(_ value: some Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        dump([Optional(value)], to: &dumped)
        return ["\(value)", String(reflecting: value), dumped]
    }

    private func expectNoSecrets(_ value: some Any, says words: String...) {
        for text in texts(value) {
            #expect(!Self.secrets.contains { text.contains($0) }, "\(text)")
            #expect(!text.contains("[104, 117") && !text.contains("- 104"), "bytes: \(text)")
            for word in words { #expect(text.contains(word), "\(word): \(text)") }
        }
    }

    private func record(status: Int?, _ source: AnswerSource = .network) throws -> ExchangeRecord {
        let fields = FieldBlock([Field(name: "Authorization", value: "Bearer t0ken")])
        let head = status.map { ResponseHead(status: $0, fields: [Field(name: "Set-Cookie", value: "sid=s3cret")]) }
        var report = TransferReport()
        report.requestStart = 1
        report.total = 12_345
        report.requestHeaderByteCount = 100
        report.responseBodyByteCount = 2000
        return ExchangeRecord(
            url: try #require(URL(string: Self.url)), method: "GET", fields: fields, head: head, report: report,
            source: source)
    }

    @Test("metrics say source, time and exchanges, and neither secrets nor bytes")
    func metrics() throws {
        let metrics = TaskMetrics(exchanges: [try record(status: 302), try record(status: 200)])
        expectNoSecrets(
            metrics, says: "Response from the network, after 1 redirect", "GET https://api.example/path?",
            "page=2", ": 302", ": 200", "12.3 ms, 100 bytes sent, 2000 bytes received")
        expectNoSecrets(metrics.transactionMetrics[0], says: "GET https://api.example/path?", ": 302")
        let silent = TransactionMetrics(exchange: try record(status: nil))
        expectNoSecrets(silent, says: "no response")
        expectNoSecrets(TaskMetrics(exchanges: [try record(status: 200, .cache)]), says: "from the cache")
        expectNoSecrets(TaskMetrics(exchanges: [try record(status: 504, .notSent)]), says: "nothing was sent")
    }

    private typealias Event<Success: Sendable> = WebSocketRequest.Event<Success, any Error>

    private func expectNoSecrets<Success: Sendable>(in kind: Event<Success>.Kind, says words: String) {
        expectNoSecrets(kind, says: words)
        expectNoSecrets(Event(socket: nil, kind: kind), says: words)
    }

    @Test("socket events say what happened and how long a message is, and neither its content nor secrets")
    func events() throws {
        typealias Message = URLSessionWebSocketTask.Message
        let secret = Data("hunter2".utf8)
        expectNoSecrets(in: Event<Message>.Kind.connected(protocol: nil), says: "connected")
        expectNoSecrets(in: Event<Message>.Kind.connected(protocol: "bearer.t0ken"), says: "with a subprotocol")
        expectNoSecrets(in: Event<Message>.Kind.receivedMessage(.data(secret)), says: "a message of 7 bytes")
        expectNoSecrets(in: Event<Message>.Kind.receivedMessage(.string("hunter2")), says: "of text, 7 bytes")
        expectNoSecrets(in: Event<Data>.Kind.receivedMessage(secret), says: "a message of 7 bytes")
        expectNoSecrets(in: Event<String>.Kind.receivedMessage("opensesame"), says: "of text, 10 bytes")
        expectNoSecrets(in: Event<[String: String]>.Kind.receivedMessage(["a": "s3cret"]), says: "received a message")
        expectNoSecrets(
            in: Event<Data>.Kind.serializerFailed(RequestSyntaxError.invalidMethod("hunter2")), says: "could not read")
        expectNoSecrets(
            in: Event<Data>.Kind.disconnected(closeCode: .goingAway, reason: secret),
            says: "code 1001, with a reason of 7")
        expectNoSecrets(
            in: Event<Data>.Kind.disconnected(closeCode: .invalid, reason: nil), says: "closed by the server")
        var request = URLRequest(url: try #require(URL(string: Self.url)))
        request.headers.add(.authorization(bearerToken: "t0ken"))
        request.httpBody = secret
        let response = ResponseHead(status: 403, fields: [Field(name: "Set-Cookie", value: "sid=s3cret")])
            .httpURLResponse(for: try #require(request.url))
        let completion = WebSocketRequest.Completion(
            request: request, response: response,
            metrics: TaskMetrics(exchanges: [try record(status: 403)]), error: .explicitlyCancelled)
        expectNoSecrets(completion, says: "https://api.example/path?")
        expectNoSecrets(in: Event<Data>.Kind.completed(completion), says: "status 403, failed: ")
        let ended = WebSocketRequest.Completion(request: nil, response: nil, metrics: nil, error: nil)
        expectNoSecrets(ended, says: "no request, closed by both sides")
    }
}
