// `fireweed serve`.

import CommandLanguage
import FixtureServer
import Foundation

/// Runs the fixture server until a signal ends it.
struct ServeRunner {
    let port: UInt16
    let folder: String?
    let invocation: Invocation

    func run() async -> ExitCode {
        do {
            let files = try folder.map { try ServedFolder(path: $0) }
            // Removes its folder when it goes: it has to stay for as long as the server runs.
            let authority = invocation.servesTLS && invocation.certificateFile == nil ? try CertificateAuthority() : nil
            let server = try FixtureServer.start(port: port, certificate: try certificate(authority))
            server.observe { request, response in
                let count = request.bodyByteCount > 0 ? ", \(request.bodyByteCount) bytes came" : ""
                Terminal.tell("\(ClockText.now()) \(request.method) \(request.target) → \(response.status)\(count)\n")
            }
            if let files { server.answer { files.response(to: $0) } }
            Terminal.write("Serving \(folder.map { "\($0) " } ?? "")on \(server.url.absoluteString)\n")
            if let authority { Terminal.write("Clients trust it with --cacert \(authority.certificate.path)\n") }
            let code = await untilSignal()
            server.stop()
            return withExtendedLifetime(authority) { code }
        } catch {
            let message =
                switch error {
                case let error as UsageError: error.message
                case let error as ServerError: error.description
                default: error.localizedDescription
                }
            Terminal.tell("fireweed: \(message)\n")
            return error is UsageError ? .usage : .failure
        }
    }

    /// Waits for Ctrl-C, SIGTERM or SIGHUP.
    private func untilSignal() async -> ExitCode {
        var interruption: Interruption?
        let signal = await withUnsafeContinuation { (continuation: UnsafeContinuation<Int32, Never>) in
            interruption = Interruption { continuation.resume(returning: $0) }
        }
        return withExtendedLifetime(interruption) { ExitCode(rawValue: 128 + signal) ?? .failure }
    }

    /// The files of the certificate that the options ask for; `nil` for clear text.
    private func certificate(_ authority: CertificateAuthority?) throws -> CertificateAuthority.Issued? {
        if let authority { return try authority.issue(["DNS:localhost", "IP:127.0.0.1", "IP:::1"]) }
        guard let file = invocation.certificateFile else { return nil }
        let key = invocation.keyFile ?? file
        for path in [file, key] { _ = try LocalFile.isRegular(path) }
        return CertificateAuthority.Issued(certificate: URL(fileURLWithPath: file), key: URL(fileURLWithPath: key))
    }
}
