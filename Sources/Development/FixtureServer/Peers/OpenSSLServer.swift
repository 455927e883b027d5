// `openssl s_server` with any options.

public import Foundation

/// An `openssl s_server` on a loopback port, which answers every request with a page about the connection.
///
/// The server takes one connection at a time. Its process ends when this object is released.
public final class OpenSSLServer: Sendable {
    /// The port.
    public var port: UInt16 { reservation.number }
    private let reservation: PortReservation
    private let process: ChildProcess

    /// Starts a server that sends a chain, the leaf first; `arguments` are options of `openssl-s_server(1)`.
    public init(_ chain: [CertificateGenerator.Issued], _ arguments: [String] = []) throws {
        guard let leaf = chain.first else { throw ServerError(description: "no certificate") }
        reservation = try PortReservation()
        let port = reservation.number
        let file = leaf.certificate.deletingPathExtension().appendingPathExtension("\(UUID()).chain")
        try chain.dropFirst().map(\.pem).joined().write(to: file, atomically: true, encoding: .utf8)
        let rest = chain.count > 1 ? ["-cert_chain", file.path] : []
        // Security level 0, since tests also need keys and signatures that higher levels refuse as weak.
        let ciphers = arguments.contains("-cipher") ? [] : ["-cipher", "DEFAULT:@SECLEVEL=0"]
        process = try ChildProcess(
            "openssl",
            ["s_server", "-accept", "127.0.0.1:\(port)", "-cert", leaf.certificate.path, "-key", leaf.key.path, "-www"]
                + rest + ciphers + arguments,
            package: "openssl")
        try ChildProcess.waitForPort(port)
    }

    /// The URL at a host name.
    public func url(host: String = "localhost") -> URL {
        URL(string: "https://\(host):\(port)/") ?? URL(fileURLWithPath: "/")
    }
}
