import FixtureServer
import Foundation
import Testing

/// The program has to run, and to find nothing; `make chaos` runs it for longer, with other seeds.
@Suite("Chaos", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ChaosTests {
    private let folder: TemporaryFolder
    private let program = Bundle.main.bundleURL.appendingPathComponent("FireweedChaos").path

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("a short round of the chaos program ends, and finds nothing wrong")
    func shortRound() async throws {
        let arguments = [
            "--seed", "1", "--round", "0", "--operations", "60", "--stall-limit", "\(TestTimeouts.seconds)",
        ]
        let output = try await Program.run(program, arguments, in: folder.url)
        #expect(output.code == 0, "\(output.text)")
    }

    @Test("a seed gives the same plan again, and another seed another one")
    func plans() async throws {
        var plans: [String] = []
        for seed in ["7", "7", "8"] {
            let arguments = ["--plan", "--seed", seed, "--round", "3"]
            plans.append(try await Program.run(program, arguments, in: folder.url).text)
        }
        #expect(plans[0] == plans[1] && plans[0] != plans[2] && !plans[0].isEmpty)
    }
}
