import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Descriptor reuse", .timeLimit(.minutes(TestTimeouts.minutes)))
struct DescriptorReuseTests {
    @Test("a connection attempt that was given up does not leave the next one unwatched")
    func reuse() async throws {
        let listener = try FullListener()
        let server = try FixtureServer.start()
        var options = TransportOptions()
        options.connectTimeout = .milliseconds(50)
        let impatient = Session.isolated(transportOptions: options)
        let session = Session.isolated { $0.timeoutIntervalForRequest = 30 }
        // Both sessions have their own descriptors before the one that matters is taken, given up and taken again.
        for each in [impatient, session] {
            let other = try FixtureServer.start()
            // On a busy machine 50 ms can be too short for this one too.
            while await each.request(other.url("/anything")).serializingData().response.error != nil {}
            other.stop()
        }
        let givenUp = await impatient.request("http://127.0.0.1:\(listener.port)/").serializingData().response
        #expect(givenUp.error?.urlErrorCode == .timedOut)
        let response = await session.request(server.url("/anything")).serializingData().response
        #expect(response.response?.statusCode == 200, "\(response)")
    }
}
