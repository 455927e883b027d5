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

    @Test(
        "`make chaos` fails for a fault and for a turn of a loop of more than 500 ms, and lists those of more than 20 ms",
        arguments: [
            ("", "", 0, ""), ("exit 2", "", 2, ""), ("exit 1", "thread", 1, ""),
            (turn(501), "", 1, "2 turns of event loops used more than 20 ms of CPU time; the longest:"),
            (turn(21), "", 0, "fireweed: a turn of an event loop used 21 ms of CPU time, 7 ms of it in Connection"),
            ("\(turn(99)); \(turn(100))", "", 0, "longest:\nfireweed: a turn of an event loop used 100 ms"),
            ("\(turn(21)); exit 3", "", 3, "2 turns of event loops"),
            ("[ \"${FIREWEED_TURN_LIMIT:-none}\" = none ]", "thread", 0, ""),
            ("[ \"$FIREWEED_TURN_LIMIT\" = 20 ]", "", 0, ""),
        ])
    func turns(program script: String, sanitizer: String, code: Int, text: String) async throws {
        let program = folder.file("program")
        try "#!/bin/bash\n\(script)\n".write(to: program, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: program.path)
        let output = try await Program.run(
            "env",
            [
                "-u", "FIREWEED_TURN_LIMIT", "SANITIZE=\(sanitizer)", "JOBS=2", "\(Repository.root.path)/Scripts/chaos",
                program.path,
            ],
            in: folder.url)
        #expect(output.code == Int32(code), "\(output.text) \(output.errors)")
        #expect(text.isEmpty ? output.text.isEmpty : output.text.contains(text), "\(output.text)")
    }

    /// Prints what `TurnWatch` reports.
    private static func turn(_ milliseconds: Int) -> String {
        let text = "a turn of an event loop used \(milliseconds) ms of CPU time, 7 ms of it in Connection"
        return "echo 'fireweed: \(text)' >&2"
    }
}
