// Go's `net/http`, in a separate program.

import FixtureServer
import Foundation

/// Go's standard client, in a separate program that measures itself.
enum GoRound {
    /// The path of the built program, relative to the package's folder.
    static let program = ".build/bench-go-client"

    /// Whether there is a `go` in `PATH`.
    static var isInstalled: Bool {
        let folders = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
        return folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/go") }
    }

    /// Builds the program with Go.
    static func build() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["go", "build", "-o", program, "Benchmarks/GoClient/main.go"]
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw RoundError(text: "Go could not build its client") }
    }

    static func arguments(_ scenario: Scenario, _ url: URL) -> [String] {
        let numbers = [scenario.count, scenario.window, scenario.connections, NginxServer.smallContent.count]
        return [url.appendingPathComponent(scenario.path).absoluteString] + numbers.map { "\($0)" }
    }
}
