// An independent WebSocket server: the `websockets` package for Python.

public import Foundation

/// A Python process on a free loopback port, which ends when this object is released.
///
/// Paths: `/echo` sends back what comes, in fragments with `?fragment=256`; `/headers` sends the handshake's fields as
/// JSON; `/close?code=4000&reason=x` closes; `/flood?count=9&size=10` sends messages; `/fragments` sends one message in
/// three frames; `/deaf` stops reading, and so answers neither pings nor close frames; `/ping` pings and then sends
/// `pong`; `/redirect?to=URL`, `/status?code=404`, `/basic` and `/digest?algorithm=MD5&qop=auth` (for `user` and
/// `secret`; `stale=2` declares the first two nonces stale) refuse the handshake or ask for credentials; `/cookie` sets
/// a cookie; `/peer` sends the subject of the client's certificate.
///
/// The package is PyPI's current version where `PythonEnvironment` has one. Otherwise it is Debian's, whose API has
/// other names.
public final class WebSocketServer: Sendable {
    /// A server in clear text that all tests of a process share, since Python takes long to start.
    public static var shared: WebSocketServer { get throws { try plain.get() } }
    private static let plain = Result { try WebSocketServer() }
    private static let package = Result {
        try ChildProcess.run(
            PythonEnvironment.program, ["-c", "import websockets"], package: "python3",
            in: FileManager.default.temporaryDirectory)
    }

    /// The port.
    public var port: UInt16 { reservation.number }
    private let reservation: PortReservation
    private let scheme: String
    private let process: ChildProcess

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - certificate: the certificate for `localhost`, with which the server speaks TLS; `nil` for clear text.
    ///   - clientAuthority: the authority whose client certificates are demanded.
    ///   - subprotocols: the subprotocols that the server accepts.
    ///   - compression: the parameters of permessage-deflate, as keyword arguments of `ServerPerMessageDeflateFactory`;
    ///     `nil` for none.
    /// - Throws: `ServerError` when Python's `websockets` is missing or the server does not listen.
    public init(
        certificate: CertificateAuthority.Issued? = nil, clientAuthority: CertificateAuthority? = nil,
        subprotocols: [String] = [], compression: [String: Int]? = nil
    ) throws {
        guard case .success = Self.package else {
            throw ServerError(description: "python3-websockets is missing: apt-get install python3-websockets")
        }
        reservation = try PortReservation()
        let port = reservation.number
        scheme = certificate == nil ? "ws" : "wss"
        let settings: [String: Any] = [
            "port": Int(port), "subprotocols": subprotocols, "compression": compression ?? NSNull(),
            "certificate": certificate?.certificate.path ?? "", "key": certificate?.key.path ?? "",
            "authority": clientAuthority?.certificate.path ?? "",
        ]
        let text = String(decoding: try JSONSerialization.data(withJSONObject: settings), as: UTF8.self)
        process = try ChildProcess(
            PythonEnvironment.program, ["-c", Self.script, text], package: "python3-websockets")
        try ChildProcess.waitForPort(port)
    }

    /// The URL of a path, `ws` or `wss`.
    public func url(_ path: String) -> URL {
        let host = scheme == "ws" ? "127.0.0.1" : "localhost"
        return URL(string: "\(scheme)://\(host):\(port)\(path)") ?? URL(fileURLWithPath: "/")
    }

    /// Kills the server, which ends every connection.
    public func stop() {
        process.stop()
    }
}
