// Secrets and the entries of requests.

import Fireweed
import FireweedLogging
import FireweedTransport
import FixtureServer
import Foundation
import InMemoryLogging
import Logging
import Synchronization
import Testing

@Suite("Secrets in entries", .timeLimit(.minutes(TestTimeouts.minutes)))
struct LogSecretTests {
    private let stage = LoggedStage()

    /// Every name of the list of secrets.
    private static let names = SecretNames.standardParts.union(SecretNames.standardWholes).sorted()

    private func redirect(to location: String) -> [ScriptedTransport.Action] {
        [.head(ResponseHead(status: 302, fields: [Field(name: "Location", value: location)]))]
    }

    @Test("no value of a secret name is in any entry, however the request ends")
    func secrets() async throws {
        let endings: [[ScriptedTransport.Action]] = [
            [.head(ResponseHead(status: 200, fields: [Field(name: "Set-Cookie", value: "a=hunter2")]))],
            [.head(ResponseHead(status: 401, fields: []))], [.head(ResponseHead(status: 500, fields: []))],
            [.failure(.exchange(.timedOut, detail: "no answer from https://a.test/?token=hunter2", engineCode: 0))],
            [.failure(.reported(Revealing()))], redirect(to: "https://u:hunter2@b.test/end?secret=hunter2"),
        ]
        let session = stage.scripted(
            interceptor: Retrier { request, _, _, completion in
                completion(request.retryCount == 0 ? .retry : .doNotRetry)
            }
        ) { message in
            guard !message.url.contains("/end") else { return [.head(ResponseHead(status: 204, fields: []))] }
            return endings[(Int(message.fields.value(of: "X-Ending") ?? "") ?? 0)]
        }
        for (number, name) in Self.names.enumerated() {
            let url = "https://user:hunter2@a.test/x?\(name)=hunter2&b=1#\(name)=hunter2"
            let request = session.request(
                url,
                headers: [
                    "Authorization": "Bearer hunter2", "Cookie": "a=hunter2",
                    "X-Ending": "\(number % endings.count)",
                ])
            _ = await request.validate().serializingData().response
        }
        #expect(stage.entries.count >= Self.names.count)
        for entry in stage.entries {
            #expect(!"\(entry)".contains("hunter2"), "\(entry.message): \(entry.metadata)")
        }
        #expect(stage.values(of: "url.full").contains { $0.contains("b=1") })
    }

    @Test("a server cannot forge lines")
    func injection() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 500 \u{1B}[31mNo\u{85}forged\r\nContent-Length: 0\r\n\r\n"), .close,
        ])
        _ = await stage.session().request(server.url("/%0Aforged")).serializingData().response
        for entry in stage.entries {
            let text = "\(entry.message) \(entry.metadata)"
            #expect(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
        }
        #expect(stage.entries.count == 1)
    }
}

/// An error that says more than it should.
private struct Revealing: Error, LocalizedError {
    var errorDescription: String? { "token=hunter2" }
}
