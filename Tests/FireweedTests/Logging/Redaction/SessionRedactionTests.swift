import Fireweed
import FixtureServer
import Foundation
import Testing

/// What a session hides in its logs, archives and `curl` commands.
@Suite("Redaction of a session", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SessionRedactionTests {
    private let server: FixtureServer

    init() throws {
        server = try FixtureServer.start()
    }

    /// The command, the log and the archive of a request with a field of this session.
    private func texts(_ redaction: Redaction) async throws -> [String] {
        let (log, recorder) = (ProtectedList<String>(), HARRecorder(redaction: redaction))
        let monitor = LoggingMonitor(detail: .full, redaction: redaction) { log.append($0) }
        var options = TransportOptions()
        options.credentialFieldNames = ["X-Tenant"]
        let session = Session.isolated(eventMonitors: [monitor, recorder], transportOptions: options)
        let request = session.request(server.url("/get"), headers: ["x-tenant": "s3cret", "x-plain": "plain"])
        _ = await request.serializingData().response
        monitor.queue.sync {}
        let archive = try String(decoding: recorder.archive, as: UTF8.self)
        return [request.cURLDescription(secrets: .hidden), log.all.joined(separator: "\n"), archive]
    }

    @Test("the session's own credential fields are hidden in its commands, logs and archives")
    func ownFields() async throws {
        let custom = Redaction(fieldNames: ["x-other"], parameterNames: [])
        for redaction in [Redaction.standard, custom] {
            for text in try await texts(redaction) {
                #expect(!text.contains("s3cret") && text.contains("plain"), "\(text)")
            }
        }
    }

    @Test("a redaction that hides nothing still hides nothing")
    func none() async throws {
        for text in try await texts(.none).dropFirst() { #expect(text.contains("s3cret"), "\(text)") }
    }
}
