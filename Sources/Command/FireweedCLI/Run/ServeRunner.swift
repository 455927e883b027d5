// `fireweed serve`.

import CommandLanguage
import Fireweed
import FireweedTesting
import FixtureEndpoints
import Foundation

/// Runs a mock server with endpoints to try things out, a folder, or a recording, until a signal ends it.
struct ServeRunner {
    let port: UInt16
    let folder: String?
    let invocation: Invocation

    func run() async -> ExitCode {
        do {
            let files = try folder.map { try ServedFolder(path: $0, uploadLimit: invocation.uploadLimit) }
            let socket = try ListeningSocket(host: invocation.servedHost, port: port)
            let authority = invocation.servesTLS && invocation.certificateFile == nil ? try Self.authority() : nil
            let certificate = try certificate(authority, for: socket)
            let (stub, rules) = try answers(files)
            let server = try MockServer.start(
                on: socket.descriptor, port: socket.port, certificate: certificate, rules: rules, stubs: stub)
            server.observe { request, status in
                tell(of: request, status.map { "\($0)" } ?? "no response")
            }
            let subject = (invocation.archiveFile ?? folder).map { "\($0) " } ?? ""
            let scheme = certificate == nil ? "http" : "https"
            Terminal.write("Serving \(subject)on \(scheme)://\(socket.host):\(socket.port)\n")
            if let authority { Terminal.write("Clients trust it with --cacert \(authority.certificate.path)\n") }
            if socket.isReachable, invocation.takesUploads {
                Terminal.tell("fireweed: whoever can reach \(socket.host) can read the folder and put files into it\n")
            }
            let code = await untilSignal()
            server.stop()
            return code
        } catch {
            let message =
                switch error {
                case let error as UsageError: error.message
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
    private static func authority() throws -> KeptAuthority {
        let folder = URL(fileURLWithPath: ConfigurationFolder.path()).appendingPathComponent("authority")
        return try KeptAuthority(in: folder, name: "fireweed serve of this user")
    }

    /// Returns the stubs and rules of a server that answers from an archive, with one status, with the files of a
    /// folder, or with its endpoints.
    private func answers(_ files: ServedFolder?) throws -> ([Stub], ServiceRules) {
        if let archive = invocation.archiveFile {
            let recording = try Recording(har: LocalFile.data(archive))
            let stubs = recording.stubs(matching: .request, anyOrigin: true)
            return (stubs + stubs.compactMap(\.forHead), ServiceRules())
        }
        let delay = invocation.servedDelay ?? 0
        let service: EndpointService
        if let status = invocation.servedStatus {
            let discard = { @Sendable (_: ReceivedRequest) in Reception.receiver(DiscardedContent()) }
            service = EndpointService(reception: discard) { _ in FixtureResponse(status: status, delay: delay) }
        } else if let files {
            service = EndpointService(reception: files.reception) { request in
                var response = files.response(to: request)
                response.delay = delay
                return response
            }
        } else {
            service = EndpointService(answer: Endpoints.answer)
        }
        return ([service.stub], service.rules)
    }

    private func tell(of request: RecordedRequest, _ status: String) {
        let count = request.contentByteCount > 0 ? ", \(request.contentByteCount) bytes came" : ""
        let line =
            request.method == RecordedRequest.unreadableMethod
            ? "bytes that are not HTTP; TLS needs --tls" : "\(request.method.rawValue) \(request.pathAndQuery)"
        Terminal.tell("\(ClockText.now()) \(line) → \(status)\(count)\n")
    }

    /// Waits for Ctrl-C, SIGTERM or SIGHUP.
    private func untilSignal() async -> ExitCode {
        var interruption: Interruption?
        let signal = await withUnsafeContinuation { (continuation: UnsafeContinuation<Int32, Never>) in
            interruption = Interruption { continuation.resume(returning: $0) }
        }
        return withExtendedLifetime(interruption) { ExitCode(rawValue: 128 + signal) ?? .failure }
    }

    /// Returns the certificate that the options ask for; `nil` for clear text.
    private func certificate(_ authority: KeptAuthority?, for socket: ListeningSocket) throws -> ServiceCertificate? {
        if let authority { return .issued(by: authority, names: socket.certificateNames) }
        guard let (file, passphrase) = IdentityMaker.certificate(of: invocation) else { return nil }
        let key = invocation.keyFile ?? file
        for path in [file, key] { _ = try LocalFile.isRegular(path) }
        return .files(certificate: file, key: key, passphrase: passphrase)
    }
}
