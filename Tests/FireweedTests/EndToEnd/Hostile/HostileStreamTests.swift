import Fireweed
import FixtureServer
import Foundation
import Testing

/// Over TLS; what servers do in clear text keeps the loop for a while, which other tests would feel: see
/// `HostileRemainsTests`.
@Suite("Hostile servers over HTTP/2", .timeLimit(.minutes(TestTimeouts.minutes)))
struct HostileStreamTests {
    /// What a server does once the request has come, and whether a response comes of it.
    static let acts: [(name: String, isAnswered: Bool)] = [
        ("answer", true), ("goaway then answer", true), ("goaway", false), ("goaway refusing", false),
        ("rst flood", false), ("rst at once", false), ("rst in content", false), ("continuation flood", false),
        ("empty continuation flood", false), ("ping flood", false), ("settings flood", false),
        ("window flood", false), ("window overflow", false), ("priority flood", false),
        ("empty data flood", false), ("unknown frame flood", false), ("interim flood", false),
        ("huge fields", false), ("broken compression", false), ("push", false), ("frame too large", false),
        ("data before headers", false), ("data on stream 0", false), ("no status", false),
        ("length too long", false), ("length too short", false), ("upper-case field", false),
        ("http/1 instead", false), ("silence", false), ("close", false),
    ]

    @Test("each act over TLS ends in time, with the response or an error", arguments: acts)
    func actOverTLS(name: String, isAnswered: Bool) async throws {
        let testCertificates = try TestCertificates.shared
        let peer = try SecurePeer([testCertificates.server, testCertificates.intermediate], role: .http2(name))
        var options = TransportOptions()
        options.certificateAuthorities = .file(testCertificates.root.certificate)
        options.maximumFramingByteCount = 65_536
        let session = Session.isolated(transportOptions: options) {
            $0.timeoutIntervalForRequest = name == "silence" ? 5 : TimeInterval(TestTimeouts.seconds)
        }
        let response = await session.request(peer.url()).serializingData().response
        if isAnswered {
            #expect(response.value == Data("hello".utf8), "\(name): \(response)")
        } else {
            #expect(response.error != nil, "\(name): \(response)")
            #expect(response.error?.urlErrorCode != .timedOut || name == "silence", "\(name): \(response)")
        }
        session.withAllRequests { #expect($0.isEmpty) }
        try await peer.waits(for: 1, of: "request")
    }
}
