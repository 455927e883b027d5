// Runs of whole commands.

import Foundation

/// Runs a command repeatedly, one process after the other, and discards its output.
struct CommandRound {
    let client: Client

    func run(_ url: URL, count: Int) throws {
        let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let program =
            client == .curlCommand ? URL(fileURLWithPath: "/usr/bin/curl") : folder.appendingPathComponent("fireweed")
        for _ in 0..<count {
            let process = Process()
            process.executableURL = program
            process.arguments = client == .curlCommand ? ["-s", url.absoluteString] : ["GET", url.absoluteString]
            process.standardOutput = FileHandle.nullDevice
            process.standardInput = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw RoundError(text: "\(program.path) failed") }
        }
    }
}
