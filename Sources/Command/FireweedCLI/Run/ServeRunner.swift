// `fireweed serve`.

import CommandLanguage
import Fireweed
import FireweedTesting
import FixtureServer
import Foundation

/// Runs the fixture server, or a server that answers from a recording, until a signal ends it.
struct ServeRunner {
    let port: UInt16
    let folder: String?
    let invocation: Invocation

    func run() async -> ExitCode {
        do {
            let files = try folder.map { try ServedFolder(path: $0, uploadLimit: invocation.uploadLimit) }
            let socket = try ListeningSocket(host: invocation.servedHost, port: port)
            // The authority's `deinit` removes the issued files, so the authority has to live as long as the server.
            let authority = invocation.servesTLS && invocation.certificateFile == nil ? try Self.authority() : nil
            let issued = try certificate(authority, for: socket)
            let stop =
                if let archive = invocation.archiveFile {
                    try startRecording(archive, socket, issued)
                } else {
                    try startFixtures(files, socket, issued)
                }
            let subject = (invocation.archiveFile ?? folder).map { "\($0) " } ?? ""
            let scheme = issued == nil ? "http" : "https"
            Terminal.write("Serving \(subject)on \(scheme)://\(socket.host):\(socket.port)\n")
            if let authority { Terminal.write("Clients trust it with --cacert \(authority.certificate.path)\n") }
            if socket.isReachable, invocation.takesUploads {
                Terminal.tell("fireweed: whoever can reach \(socket.host) can read the folder and put files into it\n")
            }
            let code = await untilSignal()
            stop()
            return withExtendedLifetime(authority) { code }
        } catch {
            let message =
                switch error {
                case let error as UsageError: error.message
                case let error as ServerError: error.description
                case let error as RecordingError: "\(invocation.archiveFile ?? ""): \(error)"
                default: error.plainText
                }
            Terminal.tell("fireweed: \(message)\n")
            return error is UsageError ? .usage : .failure
        }
    }

    /// Returns the user's own certificate authority, which is the same in every run.
    ///
    /// No program trusts the authority unless it is told to.
    private static func authority() throws -> CertificateAuthority {
        let folder = URL(fileURLWithPath: ConfigurationFolder.path()).appendingPathComponent("authority")
        return try CertificateAuthority(keptIn: folder, name: "fireweed serve of this user")
    }

    /// Starts the server with its endpoints, with one status, or with the files of a folder; returns a closure that
    /// stops it.
    private func startFixtures(
        _ files: ServedFolder?, _ socket: ListeningSocket, _ issued: CertificateAuthority.Issued?
    ) throws -> () -> Void {
        let server = try FixtureServer.start(on: socket.descriptor, port: socket.port, certificate: issued)
        server.observe { request, response in
            tell(of: request.method, request.target, "\(response.status)", request.bodyByteCount)
        }
        let delay = invocation.servedDelay ?? 0
        if let status = invocation.servedStatus {
            server.answer { _ in FixtureResponse(status: status, delay: delay) }
        } else if let files {
            server.receive { files.reception(of: $0) }
            server.answer { request in
                var response = files.response(to: request)
                response.delay = delay
                return response
            }
        }
        return { server.stop() }
    }

    /// Starts a server that answers from an archive; returns a closure that stops it.
    private func startRecording(
        _ archive: String, _ socket: ListeningSocket, _ issued: CertificateAuthority.Issued?
    ) throws -> () -> Void {
        let recording = try Recording(har: LocalFile.data(archive))
        let server = try MockServer.start(
            on: socket.descriptor, port: socket.port, files: issued.map { ($0.certificate.path, $0.key.path) },
            stubs: recording.stubs(matching: .request, anyOrigin: true))
        server.observe { request, status in
            tell(
                of: request.method.rawValue, request.pathAndQuery, status.map { "\($0)" } ?? "no response",
                request.body.count)
        }
        return { server.stop() }
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

    /// Returns the files of the certificate that the options ask for; `nil` for clear text.
    private func certificate(
        _ authority: CertificateAuthority?, for socket: ListeningSocket
    ) throws -> CertificateAuthority.Issued? {
        if let authority { return try authority.issue(socket.certificateNames) }
        guard let file = invocation.certificateFile else { return nil }
        let key = invocation.keyFile ?? file
        for path in [file, key] { _ = try LocalFile.isRegular(path) }
        return CertificateAuthority.Issued(certificate: URL(fileURLWithPath: file), key: URL(fileURLWithPath: key))
    }
}
