// `fireweed serve`.

import CommandLanguage
import FireweedTesting
import FixtureServer
import Foundation

/// Runs the fixture server, or one that answers from a recording, until a signal ends it.
struct ServeRunner {
    let port: UInt16
    let folder: String?
    let invocation: Invocation

    func run() async -> ExitCode {
        do {
            let files = try folder.map { try ServedFolder(path: $0) }
            // Removes its folder when it goes: it has to stay for as long as the server runs.
            let authority = invocation.servesTLS && invocation.certificateFile == nil ? try CertificateAuthority() : nil
            let issued = try certificate(authority)
            let (url, stop) =
                if let archive = invocation.archiveFile {
                    try startRecording(archive, issued)
                } else {
                    try startFixtures(files, issued)
                }
            let subject = (invocation.archiveFile ?? folder).map { "\($0) " } ?? ""
            Terminal.write("Serving \(subject)on \(url)\n")
            if let authority { Terminal.write("Clients trust it with --cacert \(authority.certificate.path)\n") }
            let code = await untilSignal()
            stop()
            return withExtendedLifetime(authority) { code }
        } catch {
            let message =
                switch error {
                case let error as UsageError: error.message
                case let error as ServerError: error.description
                case let error as RecordingError: "\(invocation.archiveFile ?? ""): \(error)"
                default: error.localizedDescription
                }
            Terminal.tell("fireweed: \(message)\n")
            return error is UsageError ? .usage : .failure
        }
    }

    /// Starts the server with its endpoints, or with the files of a folder; returns its URL, and what stops it.
    private func startFixtures(
        _ files: ServedFolder?, _ issued: CertificateAuthority.Issued?
    ) throws -> (url: String, stop: () -> Void) {
        let server = try FixtureServer.start(port: port, certificate: issued)
        server.observe { request, response in
            tell(of: request.method, request.target, "\(response.status)", request.bodyByteCount)
        }
        let delay = invocation.servedDelay ?? 0
        if let status = invocation.servedStatus {
            server.answer { _ in FixtureResponse(status: status, delay: delay) }
        } else if let files {
            server.answer { request in
                var response = files.response(to: request)
                response.delay = delay
                return response
            }
        }
        return (server.url.absoluteString, { server.stop() })
    }

    /// Starts a server that answers from an archive; returns its URL, and what stops it.
    private func startRecording(
        _ archive: String, _ issued: CertificateAuthority.Issued?
    ) throws -> (url: String, stop: () -> Void) {
        let recording = try Recording(har: LocalFile.data(archive))
        let server = try MockServer.start(
            port: port, files: issued.map { ($0.certificate.path, $0.key.path) },
            stubs: recording.stubs(matching: .request, anyOrigin: true), keepsHistory: false)
        server.observe { request, status in
            tell(
                of: request.method.rawValue, request.pathAndQuery, status.map { "\($0)" } ?? "no response",
                request.body.count)
        }
        return (server.url("").absoluteString, { server.stop() })
    }

    private func tell(of method: String, _ target: String, _ status: String, _ byteCount: Int) {
        let count = byteCount > 0 ? ", \(byteCount) bytes came" : ""
        Terminal.tell("\(ClockText.now()) \(method) \(target) → \(status)\(count)\n")
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
