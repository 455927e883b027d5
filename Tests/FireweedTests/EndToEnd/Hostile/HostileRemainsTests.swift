import FixtureServer
import Foundation
import Testing

/// In a process of its own, where no other test opens a descriptor or makes an object.
@Suite("Leaks after hostile servers", .timeLimit(.minutes(3 * TestTimeouts.minutes)))
struct HostileRemainsTests {
    private struct Plan: Encodable {
        struct Server: Encodable {
            var url: String
            var idleTimeout: Double
            var speaksPlainHTTP2 = false
        }

        var servers: [Server]
        var authority: String
        var rounds: Int
    }

    private struct Facts: Decodable {
        let descriptors: Int
        let objects: Int
        let heapByteCount: Int
    }

    private struct Report: Decodable {
        let facts: [Facts]
        let outcomes: [String: String]
    }

    @Test(
        "after all scripts and acts no descriptor, session or request stays, the heap does not grow, and acts in clear text end well"
    )
    func nothingStays() async throws {
        let scripted = try HostileScripts.all.map { try ScriptedServer.start(scripts: [$0.steps]) }
        let testCertificates = try TestCertificates.shared
        let acts = HostileStreamTests.acts.map { $0.name }
        let chain = [testCertificates.server, testCertificates.intermediate]
        let secure = try acts.map { try SecurePeer(chain, role: .http2($0)) }
        let plain = try acts.map { try SecurePeer(plainHTTP2: $0) }
        defer { withExtendedLifetime((scripted, secure, plain)) {} }
        // As in the tests of each: silence is to be over soon, and whatever else happens may take its time.
        let idleTimeouts = acts.map { $0 == "silence" ? 2 : TimeInterval(TestTimeouts.seconds) }
        let plan = Plan(
            servers: zip(scripted, HostileScripts.all).map { server, script in
                let isSilent = if case .code(.timedOut) = script.outcome { true } else { false }
                return Plan.Server(
                    url: server.url().absoluteString, idleTimeout: isSilent ? 2 : TimeInterval(TestTimeouts.seconds))
            }
                + zip(secure, idleTimeouts).map { Plan.Server(url: $0.url().absoluteString, idleTimeout: $1) }
                + zip(plain, idleTimeouts).map {
                    Plan.Server(url: $0.url().absoluteString, idleTimeout: $1, speaksPlainHTTP2: true)
                },
            authority: testCertificates.root.certificate.path, rounds: 4)
        let folder = try TemporaryFolder()
        let output = try await Program.run(
            TestPrograms.url.path, ["process", "hostile"], input: try JSONEncoder().encode(plan), in: folder.url)
        try #require(output.code == 0, "\(output.errors)")
        let report = try JSONDecoder().decode(Report.self, from: output.data)
        let facts = report.facts
        let first = try #require(facts.first)
        #expect(facts.allSatisfy { $0.objects == 0 }, "\(facts)")
        #expect(facts.allSatisfy { $0.descriptors <= first.descriptors } && first.descriptors < 32, "\(facts)")
        for (peer, act) in zip(plain, HostileStreamTests.acts) {
            let outcome = try #require(report.outcomes[peer.url().absoluteString])
            #expect(act.isAnswered ? outcome == "hello" : outcome.hasPrefix("error -"), "\(act): \(outcome)")
            // -1001 is a time-out.
            #expect(outcome != "error -1001" || act.name == "silence", "\(act): \(outcome)")
        }
        // The first round makes what is made once, and any other may make some more of that. A leak of one small block
        // for each server would be in every round.
        let growth = zip(facts.dropFirst(), facts.dropFirst(2)).map { $1.heapByteCount - $0.heapByteCount }
        #expect(try #require(growth.min()) <= 24 * scripted.count, "\(facts)")
    }
}
