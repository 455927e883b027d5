// `fireweed serve`.

import FixtureServer
import Foundation

/// Runs the fixture server until the process is ended.
enum ServeRunner {
    static func run(port: UInt16) async -> ExitCode {
        do {
            let server = try FixtureServer.start(port: port)
            Terminal.write("Serving on \(server.url.absoluteString)\n")
            // Until a signal ends the process.
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in withExtendedLifetime(server) {} }
            withExtendedLifetime(server) {}
            return .success
        } catch {
            Terminal.tell("fireweed: \(error)\n")
            return .failure
        }
    }
}
