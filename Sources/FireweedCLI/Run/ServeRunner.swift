// `fireweed serve`.

import FixtureServer
import Foundation

/// Runs the fixture server until the process is ended.
struct ServeRunner {
    let port: UInt16
    let folder: String?

    func run() async -> ExitCode {
        do {
            let files = try folder.map { try ServedFolder(path: $0) }
            let server = try FixtureServer.start(port: port)
            server.observe { request, response in
                let count = request.bodyByteCount > 0 ? ", \(request.bodyByteCount) bytes came" : ""
                Terminal.tell("\(Self.clock()) \(request.method) \(request.target) → \(response.status)\(count)\n")
            }
            if let files { server.answer { files.response(to: $0) } }
            Terminal.write("Serving \(folder.map { "\($0) " } ?? "")on \(server.url.absoluteString)\n")
            // Until a signal ends the process.
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in withExtendedLifetime(server) {} }
            withExtendedLifetime(server) {}
            return .success
        } catch {
            Terminal.tell("fireweed: \(error)\n")
            return .failure
        }
    }

    private static func clock() -> String {
        let formatter = DateFormatter()
        formatter.dateFormat = "HH:mm:ss"
        return formatter.string(from: Date())
    }
}
