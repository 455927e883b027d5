import Fireweed
import FixtureServer
import Foundation
import Testing

/// What a server does to us, and what may come of it.
struct HostileScript: Sendable, CustomTestStringConvertible {
    enum Outcome: Sendable {
        /// A response with this content.
        case content(String)
        /// A response of this status, and whatever content.
        case status(Int)
        /// Any failure.
        case failure
        /// A failure with one of these codes.
        case code(URLError.Code)
        /// A failure by a limit of ours.
        case refusal(TransferRefusal)
    }

    let name: String
    let steps: [ScriptedServer.Action]
    let outcome: Outcome

    var testDescription: String { name }

    /// Sends these texts after the request's head came, then closes.
    static func sends(_ name: String, _ text: String..., then outcome: Outcome) -> HostileScript {
        HostileScript(name: name, steps: [.receiveHead] + text.map { .send($0) } + [.close], outcome: outcome)
    }

    static func plays(_ name: String, _ steps: ScriptedServer.Action..., then outcome: Outcome) -> HostileScript {
        HostileScript(name: name, steps: [.receiveHead] + steps, outcome: outcome)
    }
}

@Suite("Hostile servers", .timeLimit(.minutes(TestTimeouts.minutes)))
struct HostileServerTests {
    private static func session() -> Session {
        var options = TransportOptions()
        options.maximumBodyByteCount = 1_000_000
        options.maximumHeaderByteCount = 100_000
        options.maximumFramingByteCount = 65_536
        return Session.isolated(transportOptions: options)
    }

    @Test(
        "each ends in time, with the response or an error, and leaves the session whole",
        arguments: HostileScripts.all)
    func script(_ script: HostileScript) async throws {
        let clean: [ScriptedServer.Action] = [
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nclean"), .close,
        ]
        let server = try ScriptedServer.start(clean, script.steps, clean)
        // Silence is to be over soon; whatever else happens may take its time on a busy machine.
        let isSilent = if case .code(.timedOut) = script.outcome { true } else { false }
        let session = Self.session()
        // What the engine keeps of an exchange is part of the next one's world.
        let first = await session.request(server.url("/first")).serializingString().response
        #expect(first.value == "clean", "\(script.name): \(first)")
        let request = session.request(server.url()) { if isSilent { $0.timeoutInterval = 0.5 } }
        let response = await request.serializingData(emptyResponseCodes: Set(100..<600)).response
        check(response, script)
        // What the first connection brought must not be in the way of the next exchange, nor in its response.
        let next = await session.request(server.url("/next")).serializingString().response
        #expect(next.value == "clean", "\(script.name): \(next)")
        session.withAllRequests { #expect($0.isEmpty) }
    }

    private func check(_ response: AFDataResponse<Data>, _ script: HostileScript) {
        let text = response.value.map { String(decoding: $0, as: UTF8.self) }
        switch script.outcome {
        case .content(let expected): #expect(text == expected && response.error == nil, "\(script.name): \(response)")
        case .status(let status):
            #expect(response.error == nil && response.response?.statusCode == status, "\(script.name): \(response)")
        case .failure: #expect(response.error != nil, "\(script.name): \(response)")
        case .code(let code): #expect(response.error?.urlErrorCode == code, "\(script.name): \(response)")
        case .refusal(let refusal):
            let error = response.error?.underlyingError as? URLError
            #expect(error?.userInfo[NSUnderlyingErrorKey] as? TransferRefusal == refusal, "\(script.name): \(response)")
        }
    }
}
