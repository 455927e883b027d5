// A real server on loopback, for tests with real connections.

public import Fireweed
public import Foundation
import Glibc
import Synchronization

/// A server of HTTP/1.1 and HTTP/2 on a free port of 127.0.0.1, which answers with the stubs of ``StubTransport``.
///
/// ```swift
/// let server = try MockServer.start { Stub.get("/users/{id}").reply(.json(["name": "Ada"])) }
/// let user = try await AF.request(server.url("/users/42")).serializingDecodable(User.self).value
/// let request = try await server.takeRequest()
/// ```
///
/// Every connection has a thread of its own. Requests to a proxy (`CONNECT`, and targets in absolute form) are answered
/// too: a tunnel leads to the requested port on 127.0.0.1, whatever the host, and an absolute target is matched by its
/// whole URL. The server stops when its last reference is released.
public final class MockServer: Sendable {
    /// The stubs, and the received requests.
    public let stubs: Stubs
    /// The port.
    public let port: UInt16
    /// The certificate authority for clients to trust; `nil` in clear text.
    public let authority: Certificate?
    let identity: ServerIdentity?
    /// Issues certificates to clients; `nil` in clear text, and for a certificate from files.
    let clientAuthority: GeneratedCertificate?
    let offersHTTP2: Bool
    /// The rules of a server that runs for long, for clients of all kinds; `nil` for a server of tests.
    let service: ServiceRules?
    /// The host of the server's URLs.
    private let host: String
    /// Serves the revocation status of the certificate.
    private let statusServer: MockServer?
    private let descriptors: ServerDescriptors
    private let state = Mutex(State())

    private struct State {
        var connectionCount = 0
        var connectionFaults: [ConnectionFault] = []
        var queue: [MockResponse] = []
        var received: [Data] = []
        var sessions: [Session] = []
        var identities: [IdentityFiles] = []
        var observer: (@Sendable (RecordedRequest, Int?) -> Void)?
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - port: the port; 0, the default, is a free one.
    ///   - certificate: the kind of certificate for TLS; `nil`, the default, is clear text.
    ///   - http2: whether clients may use HTTP/2: with TLS by ALPN, in clear text by prior knowledge. False, the
    ///     default, allows HTTP/1.1 only. WebSockets always use HTTP/1.1.
    ///   - stubs: the stubs; the first one that matches answers. A request that no stub matches gets a 501 whose
    ///     content has the reason.
    /// - Returns: a server that already listens, and stops when it is released.
    /// - Throws: ``MockServerError`` when the server cannot listen, or no certificate can be made.
    public static func start(
        port: UInt16 = 0, certificate: MockCertificate? = nil, http2: Bool = false,
        @StubsBuilder _ stubs: () -> [Stub] = { [] }
    ) throws -> MockServer {
        let made = try certificate.map { try $0.issue() }
        return try start(port: port, made, http2: http2, Stubs(stubs()))
    }

    /// Starts a server that speaks TLS in certain versions, or asks clients for certificates.
    ///
    /// - Parameters:
    ///   - port: the port; 0, the default, is a free one.
    ///   - tls: the settings of TLS.
    ///   - http2: whether the server speaks HTTP/2 with clients that choose it; false by default.
    ///   - stubs: the stubs; the first one that matches answers.
    /// - Returns: a server that already listens, and stops when it is released.
    /// - Throws: ``MockServerError`` when the server cannot listen, or no certificate can be made.
    public static func start(
        port: UInt16 = 0, tls: TLSOptions, http2: Bool = false, @StubsBuilder _ stubs: () -> [Stub] = { [] }
    ) throws -> MockServer {
        let made = try tls.certificate.issue()
        made.identity.accept(tls.versions)
        if let authority = made.clientAuthority { made.identity.ask(for: tls.clientCertificates, from: authority) }
        return try start(port: port, made, http2: http2, Stubs(stubs()))
    }

    /// Starts a server of HTTP/1.1 on a socket that already listens, for clients of all kinds.
    ///
    /// The server keeps no requests, so that it can run for a long time.
    ///
    /// - Parameters:
    ///   - listener: the listening socket, on any address of the machine; the server closes it.
    ///   - port: the socket's port.
    ///   - certificate: the certificate for TLS; `nil` is clear text.
    ///   - rules: what is different from a server of tests.
    ///   - stubs: the stubs; the first one that matches answers.
    /// - Returns: a server that accepts connections.
    /// - Throws: ``MockServerError`` when the certificate cannot be used.
    package static func start(
        on listener: Int32, port: UInt16, certificate: ServiceCertificate?, rules: ServiceRules, stubs: [Stub]
    ) throws -> MockServer {
        let made = try certificate.map { IssuedCertificate(identity: try $0.identity()) }
        return start(on: listener, port: port, made, http2: false, Stubs(stubs, keepsHistory: false), rules)
    }

    /// Starts a server of HTTP/1.1 in clear text on a Unix-domain socket; it keeps no requests.
    package static func start(unixSocketPath path: String, stubs: [Stub]) throws -> MockServer {
        start(on: try ServerSocket.listen(path: path), port: 0, nil, http2: false, Stubs(stubs, keepsHistory: false))
    }

    private static func start(
        port: UInt16, _ certificate: IssuedCertificate?, http2: Bool, _ stubs: Stubs
    ) throws -> MockServer {
        let (listener, port) = try ServerSocket.listen(port: port)
        return start(on: listener, port: port, certificate, http2: http2, stubs)
    }

    private static func start(
        on listener: Int32, port: UInt16, _ certificate: IssuedCertificate?, http2: Bool, _ stubs: Stubs,
        _ service: ServiceRules? = nil
    ) -> MockServer {
        let descriptors = ServerDescriptors(listener: listener)
        let server = MockServer(stubs, descriptors, port, certificate, http2, service)
        descriptors.accept { [weak server] descriptor in
            guard let server else { return nil }
            let (number, fault) = server.takeConnection()
            let connection = ServerConnection(descriptor: descriptor, server: server, number: number, fault: fault)
            return { connection.serve() }
        }
        return server
    }

    private init(
        _ stubs: Stubs, _ descriptors: ServerDescriptors, _ port: UInt16, _ certificate: IssuedCertificate?,
        _ offersHTTP2: Bool, _ service: ServiceRules?
    ) {
        self.stubs = stubs
        self.descriptors = descriptors
        self.port = port
        identity = certificate?.identity
        authority = certificate?.authority
        clientAuthority = certificate?.clientAuthority
        host = certificate?.host ?? "127.0.0.1"
        statusServer = certificate?.statusServer
        self.offersHTTP2 = offersHTTP2
        self.service = service
        if offersHTTP2 { identity?.offerHTTP2() }
    }

    deinit { stop() }

    /// Returns the server's URL for a path.
    ///
    /// - Parameter path: the path, which begins with a slash, and may have a query; `/` by default.
    /// - Returns: an `http` URL, or an `https` URL when the server has a certificate.
    public func url(_ path: String = "/") -> URL {
        URL(string: "\(identity == nil ? "http" : "https")://\(host):\(port)\(path)")
            ?? URL(fileURLWithPath: "/")
    }

    /// Transport options with which a session trusts only this server's authority.
    ///
    /// In clear text they are the default options.
    public var transportOptions: TransportOptions {
        var options = TransportOptions()
        if let authority { options.certificateAuthorities = .certificates([authority]) }
        return options
    }

    /// Makes a session that trusts the server, with cookies and a cache of its own.
    ///
    /// The server keeps the session, so that the request of `server.session().request(…)` does not lose its session.
    ///
    /// - Parameters:
    ///   - interceptor: adapts and retries every request.
    ///   - serverTrustManager: evaluates the server's certificate; `nil`, the default, trusts only the server's own
    ///     authority.
    ///   - eventMonitors: are notified of every event; none by default.
    /// - Returns: a new session, which the server keeps until the server is released.
    public func session(
        interceptor: (any RequestInterceptor)? = nil, serverTrustManager: ServerTrustManager? = nil,
        eventMonitors: [any EventMonitor] = []
    ) -> Session {
        let session = Session(
            configuration: Session.isolated(.af.ephemeral), interceptor: interceptor,
            serverTrustManager: serverTrustManager, eventMonitors: eventMonitors, transportOptions: transportOptions)
        state.withLock { $0.sessions.append(session) }
        return session
    }

    /// Keeps the files of a client's identity as long as the server.
    func keep(_ identity: IdentityFiles) {
        state.withLock { $0.identities.append(identity) }
    }

    // MARK: Answers

    /// Returns the next request that was not taken yet, in order of arrival; waits when there is none.
    ///
    /// ``RecordedRequest/wireBytes`` has the request's bytes.
    ///
    /// - Parameter timeout: how long to wait, in real time; 10 seconds by default.
    /// - Returns: the request, which is not returned again.
    /// - Throws: `StubExpectationError` when none arrives in time, `CancellationError` when the task is cancelled.
    public func takeRequest(within timeout: Duration = .seconds(10)) async throws -> RecordedRequest {
        try await stubs.takeRequest(within: timeout)
    }

    /// Adds answers to the queue: the next requests, whatever they are, get these answers instead of those of the
    /// stubs.
    public func enqueue(_ responses: MockResponse...) {
        state.withLock { $0.queue += responses }
    }

    /// Adds faults to a queue: each of the next connections gets one fault, in order.
    public func enqueue(connectionFault faults: ConnectionFault...) {
        state.withLock { $0.connectionFaults += faults }
    }

    /// The number of connections that were accepted.
    public var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// The requests byte for byte, head and content with its framing, in the order in which they were complete.
    ///
    /// HTTP/2 requests are shown in the form of HTTP/1.1, since their heads are compressed on the wire.
    public var receivedBytes: [Data] { state.withLock { $0.received } }

    /// Calls `observer` for each request, with the status of its answer (`nil` without an answer), on the
    /// connection's thread.
    package func observe(_ observer: @escaping @Sendable (RecordedRequest, Int?) -> Void) {
        state.withLock { $0.observer = observer }
    }

    /// Returns the fault of the answer that a request will get, as far as the request's head shows; `nil` for no fault.
    package func earlyFault(for request: RecordedRequest) -> ServerFault? {
        let queued = state.withLock { $0.queue.first }
        return if let queued { queued.fault } else { stubs.earlyFault(for: request) }
    }

    /// Returns the answer to a request: the next answer in the queue, else the answer of the stubs.
    func answer(to request: RecordedRequest) -> Result<(MockResponse, RecordedRequest), any Error> {
        let queued = state.withLock { $0.queue.isEmpty ? nil : $0.queue.removeFirst() }
        var answer: Result<(MockResponse, RecordedRequest), any Error>
        if let queued {
            stubs.record(request, nil)
            answer = .success((queued, request))
        } else {
            answer = stubs.answer(to: request)
        }
        // The error of an incomplete recording becomes a 501 with its text, as for a missing stub.
        if case .success((let response, _)) = answer, case .failure(let error as RecordingError) = response.ending {
            answer = .failure(error)
        }
        let status = (try? answer.get().0).map { $0.hasHead ? $0.status : nil } ?? Self.unmatchedStatus
        notifyObserver(of: request, status: status)
        return answer
    }

    func notifyObserver(of request: RecordedRequest, status: Int?) {
        state.withLock { $0.observer }?(request, status)
    }

    /// The status for a request that has no answer.
    static let unmatchedStatus = 501

    func record(_ bytes: Data) {
        guard stubs.keepsHistory else { return }
        state.withLock { $0.received.append(bytes) }
    }

    // MARK: Connections

    /// Closes every connection, and stops listening; later calls do nothing.
    public func stop() { descriptors.stop() }

    /// Closes every open connection, while the server continues to listen.
    public func closeConnections() { descriptors.shutDownConnections() }

    /// Counts a new connection, and removes the next queued fault, which applies to it.
    private func takeConnection() -> (number: Int, fault: ConnectionFault?) {
        state.withLock { state in
            state.connectionCount += 1
            return (state.connectionCount, state.connectionFaults.isEmpty ? nil : state.connectionFaults.removeFirst())
        }
    }
}

/// A fault of a whole connection of a ``MockServer``.
public enum ConnectionFault: Sendable, Hashable {
    /// No fault.
    case none
    /// Closes the connection at once.
    case closeAtAccept
    /// Resets the connection (RST) at once.
    case resetAtAccept
    /// Reads, and never sends anything, not even in the TLS handshake.
    case silent
    /// Closes the connection in the TLS handshake, when the client's first message has arrived; without TLS, when the
    /// first bytes have arrived.
    case closeInHandshake
    /// Sends these bytes at once, and closes the connection.
    case garbage(Data)
}

/// A ``MockServer``, its socket or a certificate could not be made; the description has the reason.
public struct MockServerError: Error, Sendable, CustomStringConvertible, LocalizedError {
    /// The reason.
    public let description: String
    /// The description.
    public var errorDescription: String? { description }
}
