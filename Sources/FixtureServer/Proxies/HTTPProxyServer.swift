// tinyproxy from Debian, as an HTTP proxy.

import Foundation

/// A tinyproxy of our own on a free loopback port.
public final class HTTPProxyServer: Sendable {
    /// The port.
    public let port: UInt16
    private let folder: TemporaryFolder
    private let process: ChildProcess

    /// Starts a proxy that lets everyone on loopback through, by `CONNECT` too.
    public init() throws {
        folder = try TemporaryFolder()
        port = try LoopbackSocket.freePort()
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
        """.write(to: configuration, atomically: true, encoding: .utf8)
        process = try ChildProcess("tinyproxy", ["-d", "-c", configuration.path], package: "tinyproxy")
        try ChildProcess.waitForPort(port)
    }
}
