import Dispatch
import Fireweed
import FixtureServer
import Foundation
import Testing

/// Waits for the test before it decides.
private final class WaitingEvaluator: ServerTrustEvaluating {
    struct Refused: Error {}

    let accepts: Bool
    let gate = DispatchGroup()
    let asked: AsyncStream<Bool>
    private let noteAsked: AsyncStream<Bool>.Continuation

    init(accepts: Bool) {
        self.accepts = accepts
        (asked, noteAsked) = AsyncStream.makeStream()
        gate.enter()
    }

    var mayWait: Bool { true }

    func evaluate(_ trust: ServerTrust, forHost host: String) throws {
        noteAsked.yield(true)
        gate.wait()
        guard accepts else { throw Refused() }
    }
}

@Suite("Evaluators that wait", .timeLimit(.minutes(Patience.minutes)))
struct WaitingEvaluatorTests {
    @Test(
        "the handshake stands still meanwhile, other transfers of the loop go on, and the verdict counts",
        arguments: [true, false], [TLSVersion.tls12, .tls13])
    func waiting(accepts: Bool, version: TLSVersion) async throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: authority.issue())
        let secure = try #require(nginx.secureURL).appendingPathComponent("small")
        let evaluator = WaitingEvaluator(accepts: accepts)
        var options = TransportOptions()
        options.maximumTLSVersion = version
        let session = Session.isolated(
            serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator]), transportOptions: options)
        let request = session.request(secure)
        async let response = request.serializingData().response
        for await _ in evaluator.asked { break }
        let plain = await session.request(nginx.url.appendingPathComponent("small")).serializingData().response
        #expect(plain.error == nil && !request.isFinished)
        evaluator.gate.leave()
        let outcome = await response
        if accepts {
            #expect(outcome.response?.statusCode == 200, "\(outcome)")
        } else {
            guard case .serverTrustEvaluationFailed(.customEvaluationFailed(let error)) = outcome.error else {
                Issue.record("\(outcome)")
                return
            }
            #expect(error is WaitingEvaluator.Refused)
        }
    }

    @Test("a request may be cancelled while its evaluator waits")
    func cancelled() async throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: authority.issue())
        let evaluator = WaitingEvaluator(accepts: true)
        let session = Session.isolated(serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator]))
        let request = session.request(try #require(nginx.secureURL).appendingPathComponent("small"))
        async let response = request.serializingData().response
        for await _ in evaluator.asked { break }
        request.cancel()
        #expect(await response.error?.isExplicitlyCancelledError == true)
        evaluator.gate.leave()
        let plain = await session.request(nginx.url.appendingPathComponent("small")).serializingData().response
        #expect(plain.error == nil)
    }
}
