// An HTTP server in this process, for tests, demo and benchmarks.

import CMicrohttpd
import Dispatch
import FireweedTesting
@_exported public import FixtureEndpoints
public import Foundation
import Glibc
import Synchronization

/// An HTTP/1.1 server on a loopback port, with the endpoints that people know from httpbin.
///
/// It starts in a millisecond, and stops when `stop()` is called or its last reference is released.
public final class FixtureServer: Sendable {
    /// An event that tests can wait for.
    public enum Event: Sendable, Equatable {
        /// A connection was opened.
        case connectionOpened
        /// A connection was closed.
        case connectionClosed
        /// The head of a request arrived; the string is its target as received.
        case requestReceived(String)
        /// The server has begun to send the content of the response to this target.
        case contentStarted(String)
        /// The exchange for this target has ended; `isWhole` is true if the whole response was sent.
        case completed(String, isWhole: Bool)
    }

    /// Answers a request.
    public typealias Handler = @Sendable (ReceivedRequest) -> FixtureResponse

    /// The server's URL: `http://127.0.0.1:PORT`, or `https://127.0.0.1:PORT` with a certificate.
    public let url: URL
    /// The port; 0 for a server on a Unix-domain socket.
    public let port: UInt16
    /// The log of the server's events.
    public let events = EventLog<Event>()
    private let routes = Mutex<[String: Handler]>([:])
    private let received = Mutex<[ReceivedRequest]>([])
    private let closures = Mutex(Closures())
    private let daemon: Daemon

    /// The closures, set by the test, that answer and observe requests.
    ///
    /// A closure that is itself the value of a `Mutex` is wrapped in another thunk at each read: after 10,000 requests
    /// the thunks overflow the stack. A closure in a property of a struct is not wrapped.
    private struct Closures {
        var fallback: Handler?
        var receiver: (@Sendable (ReceivedRequest) -> Reception)?
        var observer: (@Sendable (ReceivedRequest, FixtureResponse) -> Void)?
    }

    /// Starts a server on a port, or on any free one.
    ///
    /// - Parameters:
    ///   - port: 0 for a free port.
    ///   - threads: the number of threads that serve; each connection stays on one thread.
    ///   - certificate: files of a certificate chain and its key, both in PEM, to speak TLS; `nil` for clear text.
    /// - Returns: a server that accepts connections.
    /// - Throws: `ServerError` when the port is taken or the certificate cannot be used, and the errors of reading the
    ///   files.
    public static func start(
        port: UInt16 = 0, threads: Int = 1, certificate: CertificateAuthority.Issued? = nil
    ) throws -> FixtureServer {
        let (descriptor, port) = try ServerSocket.listen(port: port)
        return try FixtureServer(
            descriptor: descriptor, port: port, threads: threads, identity: try identity(certificate))
    }

    private static func identity(
        _ certificate: CertificateAuthority.Issued?
    ) throws -> (certificate: String, key: String)? {
        try certificate.map { files in
            (
                certificate: try String(contentsOf: files.certificate, encoding: .utf8),
                key: try String(contentsOf: files.key, encoding: .utf8)
            )
        }
    }

    /// Starts a server on a Unix-domain socket.
    public static func start(unixSocketPath path: String) throws -> FixtureServer {
        try FixtureServer(descriptor: ServerSocket.listen(path: path), port: 0, threads: 1)
    }

    private init(
        descriptor: Int32, port: UInt16, threads: Int, identity: (certificate: String, key: String)? = nil
    ) throws {
        let scheme = identity == nil ? "http" : "https"
        guard let url = URL(string: "\(scheme)://127.0.0.1:\(port)") else { throw ServerError(description: "no URL") }
        self.url = url
        self.port = port
        let core = ServerCore(events: events, scheme: scheme)
        daemon = try Daemon(descriptor: descriptor, threads: threads, core: core, identity: identity)
        core.attach(
            answer: { [weak self] in self?.answer($0) ?? .status(503) },
            receive: { [weak self] in self?.reception(of: $0) ?? .memory })
    }

    deinit {
        // `stop()` waits for the daemon's threads to end. The last reference may be released on one of these threads,
        // which cannot wait for itself: another thread stops the daemon.
        DispatchQueue.global().async { [daemon] in daemon.stop() }
    }

    /// Stops the server and closes its connections.
    public func stop() {
        daemon.stop()
    }

    /// The URL of a path with its query.
    public func url(_ path: String) -> URL {
        URL(string: url.absoluteString + path) ?? url
    }

    /// Answers a path with `handler`, instead of an endpoint.
    public func route(_ path: String, _ handler: @escaping Handler) {
        routes.withLock { $0[path] = handler }
    }

    /// Answers every path that has no route, instead of the endpoints.
    public func answer(_ handler: @escaping Handler) {
        closures.withLock { $0.fallback = handler }
    }

    /// Sets the closure that decides where the content of each request goes, called when the request's head has
    /// arrived.
    package func receive(_ handler: @escaping @Sendable (ReceivedRequest) -> Reception) {
        closures.withLock { $0.receiver = handler }
    }

    /// Calls `observer` with each request and its response, before the response is sent, on a thread of the server.
    public func observe(_ observer: @escaping @Sendable (ReceivedRequest, FixtureResponse) -> Void) {
        closures.withLock { $0.observer = observer }
    }

    /// The requests in order, at least the last 10,000.
    public var requests: [ReceivedRequest] { received.withLock { $0 } }

    /// How many connections have been opened.
    public var connectionCount: Int { events.events.count { $0 == .connectionOpened } }

    func answer(_ request: ReceivedRequest) -> FixtureResponse {
        // Only the last requests are kept, since a server for benchmarks answers millions.
        received.withLock { received in
            if received.count >= 20_000 { received.removeFirst(10_000) }
            received.append(request)
        }
        let closures = closures.withLock { $0 }
        let handler = routes.withLock { $0[request.path] } ?? closures.fallback
        let response = handler?(request) ?? Endpoints.answer(request)
        closures.observer?(request, response)
        return response
    }

    private func reception(of request: ReceivedRequest) -> Reception {
        let closures = closures.withLock { $0 }
        let reception = closures.receiver?(request) ?? .memory
        if case .refused(let response) = reception { closures.observer?(request, response) }
        return reception
    }
}
