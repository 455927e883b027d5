// A server that reports what it received and can misbehave, mostly over TLS.

public import Foundation

/// A peer on a loopback port, over TLS or in clear text, in a Python process that ends when this object is released.
public final class SecurePeer: Sendable {
    /// The peer's behaviour after the TLS handshake.
    public enum Role: Sendable {
        /// Answers each request with these bytes, and closes afterwards if they contain `close`.
        case answering(String)
        /// Acts as a proxy: takes `CONNECT`, and always connects to loopback.
        case proxy
        /// Speaks HTTP/2, and performs the act with this name when a request has come. Clients that offer only HTTP/1.1
        /// get the content "hello".
        case http2(String)
    }

    /// The peer's reports, one line each, with the connection's number N from 0: `refused N why`,
    /// `connected N new|resumed protocol`, `request N line` (over HTTP/2 `request N stream S`), `bytes N count`,
    /// `connect N target`, `ping N`, `ended N why`, `closed N`.
    public let events = EventLog<String>()
    /// The port.
    public let port: UInt16
    private let process: ChildProcess
    private let scheme: String

    /// Starts a peer.
    ///
    /// - Parameters:
    ///   - chain: the certificates that the peer sends, the leaf first, with the leaf's key.
    ///   - role: the peer's behaviour.
    ///   - isLimitedToTLS12: whether TLS 1.2 is the newest version that the peer offers.
    ///   - clientAuthority: the authority whose client certificates are demanded.
    ///   - truncates: whether the peer closes connections without the alert `close_notify` of TLS.
    /// - Throws: `ServerError` when Python is missing or the peer does not listen.
    public convenience init(
        _ chain: [CertificateGenerator.Issued], role: Role, isLimitedToTLS12: Bool = false, clientAuthority: URL? = nil,
        truncates: Bool = false
    ) throws {
        guard let leaf = chain.first else { throw ServerError(description: "no certificate") }
        let file = leaf.certificate.deletingPathExtension().appendingPathExtension("\(UUID()).chain")
        try chain.map(\.pem).joined().write(to: file, atomically: true, encoding: .utf8)
        var settings: [String: Any] = ["certificate": file.path, "key": leaf.key.path]
        switch role {
        case .answering(let bytes):
            settings.merge(["mode": "answer", "answer": bytes, "protocols": ["http/1.1"]]) { $1 }
        case .proxy: settings["mode"] = "proxy"
        case .http2(let act):
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
            settings.merge(["mode": "http2", "act": act, "protocols": ["h2", "http/1.1"], "answer": answer]) { $1 }
        }
        if isLimitedToTLS12 { settings["maximum"] = "1.2" }
        if truncates { settings["truncates"] = true }
        if let clientAuthority { settings["clients"] = clientAuthority.path }
        try self.init(settings, scheme: "https")
    }

    /// Starts a peer that speaks HTTP/2 in clear text, with prior knowledge (RFC 9113 §3.3), and then performs the act
    /// with this name.
    public convenience init(plainHTTP2 act: String) throws {
        try self.init(["mode": "http2", "act": act, "plain": true], scheme: "http")
    }

    private init(_ settings: [String: Any], scheme: String) throws {
        let text = String(decoding: try JSONSerialization.data(withJSONObject: settings), as: UTF8.self)
        let output = Pipe.closedOnExec()
        process = try ChildProcess(
            "python3", ["-u", "-c", PeerScript.text, text], package: "python3", output: output.fileHandleForWriting)
        try output.fileHandleForWriting.close()
        let reader = LineReader(output.fileHandleForReading)
        guard let first = reader.next(), let port = UInt16(first.dropFirst("port ".count)) else {
            throw ServerError(description: "the peer did not start")
        }
        self.port = port
        self.scheme = scheme
        Thread { [events] in
            while let line = reader.next() { events.record(line) }
        }.start()
    }

    /// The URL of a path, at `localhost`.
    public func url(_ path: String = "/") -> URL {
        URL(string: "\(scheme)://localhost:\(port)\(path)") ?? URL(fileURLWithPath: "/")
    }

    /// Waits until the peer has reported `count` lines that begin with this word.
    ///
    /// A test must wait: the peer reports before it answers, but the response can arrive before the line.
    public func waits(for count: Int, of word: String) async throws {
        try await events.nth(count) { $0.hasPrefix(word + " ") }
    }

    /// Returns the number of lines so far that begin with this word.
    public func count(_ word: String) -> Int {
        events.events.count { $0.hasPrefix(word + " ") }
    }
}

/// Reads lines from a pipe, one thread at a time.
final class LineReader: @unchecked Sendable {
    // SAFETY: used first by the initialiser of its owner, and afterwards by only one thread.
    private let handle: FileHandle
    private var buffer = Data()

    init(_ handle: FileHandle) {
        self.handle = handle
    }

    func next() -> String? {
        while true {
            if let end = buffer.firstIndex(of: 0x0A) {
                defer { buffer = Data(buffer[(end + 1)...]) }
                return String(decoding: buffer[..<end], as: UTF8.self)
            }
            let more = handle.nextContent()
            guard !more.isEmpty else { return nil }
            buffer.append(more)
        }
    }
}
