// An OCSP responder, whose answers are made by the openssl command.

public import Foundation

/// An OCSP responder on a loopback port, whose process ends when this object is released.
///
/// Python receives the requests, since `openssl ocsp -port` of Debian 12 hangs on a connection that sends nothing.
public final class OCSPResponder: Sendable {
    private let reservation: PortReservation
    private let process: ChildProcess

    /// Starts a responder for one issuer; `signer` signs the responses, and `nil` means the issuer.
    public init(
        port reservation: PortReservation, register: URL, issuer: CertificateGenerator.Issued,
        signer: CertificateGenerator.Issued? = nil
    ) throws {
        let signer = signer ?? issuer
        self.reservation = reservation
        process = try ChildProcess(
            "python3",
            [
                "-c", Self.program, "\(reservation.number)", "openssl", "ocsp", "-index", register.path, "-CA",
                issuer.certificate.path,
                "-rsigner", signer.certificate.path, "-rkey", signer.key.path, "-ndays", "1",
            ], package: "python3")
        try ChildProcess.waitForPort(reservation.number)
    }

    private static let program = """
        import http.server, os, subprocess, sys, tempfile

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                request = self.rfile.read(int(self.headers["Content-Length"]))
                with tempfile.TemporaryDirectory() as folder:
                    paths = [os.path.join(folder, name) for name in ("request", "response")]
                    open(paths[0], "wb").write(request)
                    subprocess.run(sys.argv[2:] + ["-reqin", paths[0], "-respout", paths[1]], capture_output=True)
                    response = open(paths[1], "rb").read()
                self.send_response(200)
                self.send_header("Content-Type", "application/ocsp-response")
                self.send_header("Content-Length", str(len(response)))
                self.end_headers()
                self.wfile.write(response)

            def log_message(self, *words):
                pass

        http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
        """
}
