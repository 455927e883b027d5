// nginx from Debian, for TLS, HTTP/2 and big files.

public import Foundation

/// An nginx process on free loopback ports, which ends when this object is released or this process ends.
public final class NginxServer: Sendable {
    /// The folder whose files are served.
    public let documents: URL
    /// The URL of the server in clear text.
    public let url: URL
    /// The URL of the server over TLS with HTTP/2; `nil` without a certificate.
    public let secureURL: URL?
    /// An entry for each exchange that has ended; empty unless the server logs accesses.
    public var accessLog: [AccessLogLine] { AccessLogLine.lines(of: folder.file("access.log")) }
    /// The URL of the server in clear text with HTTP/2 by prior knowledge; `nil` unless `speaksPlainHTTP2` was set.
    public let plainHTTP2URL: URL?
    /// The content of both `/small` and `/small-fresh`.
    public static var smallContent: Data { Endpoints.small }
    private let ports: [PortReservation]
    private let folder: TemporaryFolder
    private let process: ChildProcess

    /// Starts nginx.
    ///
    /// - Parameters:
    ///   - certificate: the server's certificate, for `secureURL`.
    ///   - clientAuthority: the authority whose client certificates are demanded.
    ///   - workers: the number of worker processes.
    ///   - core: the processor core that all workers are bound to; `nil` for none.
    ///   - pause: the number of bytes of a document after which each response slows down to 1 KiB a second, until
    ///     `endPauses()`; `nil` for full speed.
    ///   - logsAccess: whether `accessLog` is kept.
    ///   - speaksPlainHTTP2: whether there is a `plainHTTP2URL`.
    ///   - requestsPerConnection: the maximum number of requests on a connection (`keepalive_requests`).
    ///   - origin: the server that requests are forwarded to, without buffering, instead of serving documents.
    /// - Throws: `ServerError` when nginx is missing or does not listen.
    public init(
        certificate: CertificateAuthority.Issued? = nil, clientAuthority: CertificateAuthority? = nil, workers: Int = 1,
        core: Int? = nil, pauseAfter pause: Int? = nil, logsAccess: Bool = false,
        speaksPlainHTTP2: Bool = false, requestsPerConnection: Int = 100_000_000, forwardingTo origin: URL? = nil
    ) throws {
        folder = try TemporaryFolder()
        documents = folder.file("documents")
        try FileManager.default.createDirectory(at: documents, withIntermediateDirectories: true)
        ports = try (0..<3).map { _ in try PortReservation() }
        let (port, securePort) = (ports[0].number, ports[1].number)
        var secure = certificate.map { Self.secure($0, clientAuthority, securePort) } ?? ""
        let plainPort = speaksPlainHTTP2 ? ports[2].number : nil
        if let plainPort { secure += " listen 127.0.0.1:\(plainPort) http2 backlog=4096;" }
        let configuration = folder.file("nginx.conf")
        let limit = pause.map { "limit_rate_after \($0);" } ?? ""
        let resumeFile = folder.file("go-on").path
        let rate = pause == nil ? "" : "set $limit_rate 1k; if (-f \(resumeFile)) { set $limit_rate 0; }"
        let affinity = core.map { core in
            let mask = "1" + String(repeating: "0", count: max(0, core))
            return "worker_cpu_affinity \(Array(repeating: mask, count: workers).joined(separator: " "));"
        }
        let log =
            logsAccess
            ? "\(AccessLogLine.format) access_log \(folder.file("access.log").path) fireweed;" : "access_log off;"
        let root = origin.map(Self.forwarding) ?? "\(rate) root \(documents.path);"
        let keeping = "keepalive_requests \(requestsPerConnection); \(log)"
        try Self.configuration(folder, port, secure, workers, affinity ?? "", limit, root, keeping)
            .write(to: configuration, atomically: true, encoding: .utf8)
        process = try ChildProcess(
            "nginx", ["-c", configuration.path, "-e", folder.file("error.log").path, "-p", folder.url.path],
            package: "nginx-light")
        try ChildProcess.waitForPort(port)
        if certificate != nil { try ChildProcess.waitForPort(securePort) }
        guard let url = URL(string: "http://127.0.0.1:\(port)") else { throw ServerError(description: "no URL") }
        self.url = url
        plainHTTP2URL = plainPort.flatMap { URL(string: "http://127.0.0.1:\($0)") }
        secureURL = certificate == nil ? nil : URL(string: "https://localhost:\(securePort)")
    }

    /// Sends documents at full speed to later requests.
    public func endPauses() throws {
        try Data().write(to: folder.file("go-on"))
    }

    /// Waits until the log has `count` ended exchanges: nginx may log an exchange after the client has seen its end.
    public func accessLog(count: Int) throws -> [AccessLogLine] {
        try ChildProcess.wait("\(count) lines in the access log of \(url)") { accessLog.count >= count }
        return accessLog
    }

    /// Stops nginx.
    public func stop() {
        process.stop()
    }

    private static func configuration(
        _ folder: TemporaryFolder, _ port: UInt16, _ secure: String, _ workers: Int,
        _ affinity: String, _ limit: String, _ root: String, _ keeping: String
    ) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder.file($0).path);" }.joined(separator: " ")
        let small = String(decoding: smallContent, as: UTF8.self)
        return """
            daemon off; master_process \(workers > 1 ? "on" : "off"); worker_processes \(workers); \(affinity)
            user root; pid \(folder.file("nginx.pid").path); error_log \(folder.file("error.log").path);
            events { worker_connections 16384; }
            http {
                \(keeping) \(limit)
                keepalive_timeout 300; client_max_body_size 0; sendfile on;
                \(temporary)
                default_type application/octet-stream;
                server {
                    listen 127.0.0.1:\(port) reuseport backlog=4096; \(secure)
                    location = /small { default_type application/json; return 200 '\(small)'; }
                    location = /small-fresh {
                        default_type application/json; add_header Cache-Control "max-age=86400"; return 200 '\(small)';
                    }
                    location = /packed { add_header Content-Encoding gzip; \(root) }
                    location / { \(root) }
                }
            }
            """
    }

    private static func forwarding(to origin: URL) -> String {
        """
        proxy_pass \(origin.absoluteString); proxy_http_version 1.1; proxy_buffering off; proxy_request_buffering off;
        proxy_redirect off; proxy_next_upstream off; proxy_set_header Host $http_host;
        """
    }

    private static func secure(
        _ certificate: CertificateAuthority.Issued, _ clients: CertificateAuthority?, _ port: UInt16
    ) -> String {
        let demand = clients.map { "ssl_client_certificate \($0.certificate.path); ssl_verify_client on;" } ?? ""
        return """
            listen 127.0.0.1:\(port) ssl http2 backlog=4096; http2_max_requests 100000000;
            ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate \(certificate.certificate.path); ssl_certificate_key \(certificate.key.path); \(demand)
            """
    }
}
