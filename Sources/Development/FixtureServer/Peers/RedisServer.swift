// redis-server from Debian.

public import Foundation
import Glibc
import Synchronization

/// A redis-server process on a free loopback port and a Unix-domain socket, which writes no data to disk.
///
/// The server ends when this object is released or when the program that started it ends.
public final class RedisServer: Sendable {
    /// The port for clear text.
    public var port: UInt16 { reservation.number }
    /// The port for TLS; 0 without a certificate.
    public var securePort: UInt16 { secureReservation?.number ?? 0 }
    /// The path of the Unix-domain socket.
    public var socket: URL { folder.file("redis.sock") }
    private let reservation: PortReservation
    private let secureReservation: PortReservation?
    private let folder: TemporaryFolder
    private let program: String
    private let arguments: [String]
    private let process: Mutex<ChildProcess?>

    /// `redis://` and the port.
    public var url: String { "redis://127.0.0.1:\(port)" }
    /// `redis+unix://` and the path of the socket.
    public var socketURL: String { "redis+unix://\(socket.path)" }
    /// `rediss://` and the port for TLS.
    public var secureURL: String { "rediss://localhost:\(securePort)" }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - arguments: options of redis.conf, such as `["--maxmemory", "2mb"]`.
    ///   - certificate: the certificate of the port for TLS; `nil` for no such port.
    ///   - sentinelConfiguration: lines of sentinel.conf, which make the server a sentinel.
    /// - Throws: when redis-server is missing or does not start.
    public init(
        _ arguments: [String] = [], certificate: CertificateAuthority.Issued? = nil,
        sentinelConfiguration: String? = nil
    ) throws {
        reservation = try PortReservation()
        let folder = try TemporaryFolder()
        self.folder = folder
        var all = ["--port", "\(reservation.number)", "--bind", "127.0.0.1", "--dir", folder.url.path]
        all += ["--pidfile", folder.file("redis.pid").path]
        if let certificate {
            let secure = try PortReservation()
            secureReservation = secure
            all += ["--tls-port", "\(secure.number)", "--tls-cert-file", certificate.certificate.path]
            all += ["--tls-key-file", certificate.key.path, "--tls-auth-clients", "no"]
            all += ["--tls-ca-cert-file", certificate.certificate.path]
        } else {
            secureReservation = nil
        }
        if let sentinelConfiguration {
            let file = folder.file("sentinel.conf")
            try sentinelConfiguration.write(to: file, atomically: true, encoding: .utf8)
            all = [file.path, "--sentinel"] + all
        } else {
            all += ["--save", "", "--appendonly", "no", "--unixsocket", folder.file("redis.sock").path]
            all += ["--enable-debug-command", "yes", "--daemonize", "no"]
        }
        program = "redis-server"
        self.arguments = all + arguments
        process = Mutex(nil)
        try start()
    }

    /// Starts the server after `stop()` on the same port, without its earlier data.
    public func start() throws {
        let made = try ChildProcess(program, arguments, package: "redis-server")
        process.withLock { $0 = made }
        try ChildProcess.waitForPort(port)
    }

    /// Kills the server and waits for its end.
    public func stop() throws {
        process.withLock { $0.take() }?.stop()
        try ChildProcess.wait("the end of the redis-server on port \(port)") { kill(identifier, 0) != 0 }
    }

    /// Suspends the server's process until `resume()`: the server answers nothing.
    public func suspend() { kill(identifier, SIGSTOP) }

    /// Lets a suspended process continue.
    public func resume() { kill(identifier, SIGCONT) }

    /// The process identifier in the PID file, whose process may have ended; `Int32.max` without a PID.
    public var identifier: Int32 {
        let text = try? String(contentsOf: folder.file("redis.pid"), encoding: .utf8)
        return Int32((text ?? "").trimmingCharacters(in: .whitespacesAndNewlines)) ?? Int32.max
    }
}
