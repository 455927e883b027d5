// tinyproxy from Debian, as an HTTP proxy.

import Foundation

/// A tinyproxy process on a free loopback port.
public final class HTTPProxyServer: Sendable {
    /// The port.
    public var port: UInt16 { reservation.number }
    private let reservation: PortReservation
    private let folder: TemporaryFolder
    private let process: ChildProcess

    /// The lines of tinyproxy's log about requests, such as `CONNECT host:port HTTP/1.1`.
    public var requests: [String] {
        let text = (try? String(contentsOf: folder.file("log"), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init).filter { $0.contains("Request (file descriptor") }
    }

    /// Starts a proxy for clients on 127.0.0.1, which may also use `CONNECT`; with `user`, they must send these Basic
    /// credentials.
    public init(user: String? = nil, password: String = "") throws {
        folder = try TemporaryFolder()
        reservation = try PortReservation()
        let port = reservation.number
        let configuration = folder.file("tinyproxy.conf")
        try """
        Port \(port)
        Listen 127.0.0.1
        Timeout 60
        MaxClients 100
        Allow 127.0.0.1
        LogFile "\(folder.file("log").path)"
        LogLevel Connect
        ViaProxyName "fireweed-proxy"
        \(user.map { "BasicAuth \($0) \(password)" } ?? "")
        """.write(to: configuration, atomically: true, encoding: .utf8)
        process = try ChildProcess("tinyproxy", ["-d", "-c", configuration.path], package: "tinyproxy")
        try ChildProcess.waitForPort(port)
    }
}
