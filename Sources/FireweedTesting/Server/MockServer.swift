// A real server on loopback, for tests that want a wire.

public import Fireweed
public import Foundation
import Glibc
import Synchronization

/// A server of HTTP/1.1 and HTTP/2 on a free port of 127.0.0.1, which answers with the stubs of ``StubTransport``.
///
/// ```swift
/// let server = try MockServer.start { Stub.get("/users/{id}").reply(.json(["name": "Ada"])) }
/// let user = try await AF.request(server.url("/users/42")).serializingDecodable(User.self).value
/// let request = try await server.stubs.takeRequest()
/// ```
///
/// Every connection has a thread of its own. Requests to a proxy (`CONNECT`, and targets in absolute form) are answered
/// too: a tunnel leads to the host that was asked for, an absolute target is matched by its whole URL. The server stops
/// with its last reference.
public final class MockServer: Sendable {
    /// The stubs, and what was asked of them.
    public let stubs: Stubs
    /// The port.
    public let port: UInt16
    /// The authority to trust, in PEM; `nil` in clear text.
    public let authority: Certificate?
    let identity: ServerIdentity?
    let offersHTTP2: Bool
    private let listener: Int32
    private let state = Mutex(State())

    private struct State {
        var isStopping = false
        var descriptors: Set<Int32> = []
        var connectionCount = 0
        var connectionFaults: [ConnectionFault] = []
        var queue: [MockResponse] = []
        var received: [Data] = []
        var sessions: [Session] = []
        var observer: (@Sendable (RecordedRequest, Int?) -> Void)?

        /// Under the lock: a descriptor that is in the set is not closed yet, so that its number is no one else's.
        func shutDownConnections() {
            for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - port: the port; 0, the default, is a free one.
    ///   - certificate: the kind of certificate for TLS; `nil`, the default, is clear text.
    ///   - http2: whether the server speaks HTTP/2 with clients that can: by their choice in the TLS handshake (ALPN),
    ///     and in clear text by prior knowledge. False by default: then it is HTTP/1.1 alone. WebSockets are HTTP/1.1.
    ///   - stubs: the stubs; the first one that matches answers. What none matches gets a 501 whose content says why.
    /// - Throws: `MockServerError` when it cannot listen, or no certificate can be made.
    public static func start(
        port: UInt16 = 0, certificate: MockCertificate? = nil, http2: Bool = false,
        @StubsBuilder _ stubs: () -> [Stub] = { [] }
    ) throws -> MockServer {
        let made = try certificate.map { try $0.issue() }
        return try start(port: port, identity: made?.identity, authority: made?.authority, http2: http2, stubs())
    }

    /// Starts a server with a certificate of somebody else's, from PEM files.
    ///
    /// - Parameter files: certificate, with its chain, and key; `nil` is clear text.
    package static func start(port: UInt16, files: (certificate: String, key: String)?, stubs: [Stub]) throws
        -> MockServer
    {
        let identity = try files.map { try ServerIdentity(certificateFile: $0.certificate, keyFile: $0.key) }
        return try start(port: port, identity: identity, authority: nil, http2: false, stubs)
    }

    private static func start(
        port: UInt16, identity: ServerIdentity?, authority: Certificate?, http2: Bool, _ stubs: [Stub]
    ) throws -> MockServer {
        let (listener, port) = try ServerSocket.listen(port: port)
        let server = MockServer(Stubs(stubs), listener, port, identity, authority, http2)
        Thread { [weak server] in accept(listener) { server } }.start()
        return server
    }

    private init(
        _ stubs: Stubs, _ listener: Int32, _ port: UInt16, _ identity: ServerIdentity?, _ authority: Certificate?,
        _ offersHTTP2: Bool
    ) {
        self.stubs = stubs
        self.listener = listener
        self.port = port
        self.identity = identity
        self.authority = authority
        self.offersHTTP2 = offersHTTP2
        if offersHTTP2 { identity?.offerHTTP2() }
    }

    deinit { stop() }

    /// The URL of a path.
    ///
    /// - Parameter path: begins with a slash.
    public func url(_ path: String = "/") -> URL {
        URL(string: "\(identity == nil ? "http" : "https")://\(host):\(port)\(path)")
            ?? URL(fileURLWithPath: "/")
    }

    /// The host by which the certificate knows the server.
    private var host: String { identity == nil ? "127.0.0.1" : "localhost" }

    /// Transport options with which a session trusts the server, and nobody else.
    ///
    /// In clear text they are the default options.
    public var transportOptions: TransportOptions {
        var options = TransportOptions()
        if let authority { options.certificateAuthorities = .certificates([authority]) }
        return options
    }

    /// Makes a session that trusts the server, with cookies and a cache of its own.
    ///
    /// The server keeps it, so that `server.session().request(…)` does not end with the session.
    ///
    /// - Parameters:
    ///   - interceptor: adapts and retries every request.
    ///   - serverTrustManager: judges the server; `nil`, the default, asks the server's own authority.
    ///   - eventMonitors: are told of everything; none by default.
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

    // MARK: Answers

    /// Adds answers to the queue: they answer the next requests, one each, whatever these are, before any stub.
    public func enqueue(_ responses: MockResponse...) {
        state.withLock { $0.queue += responses }
    }

    /// Adds faults: each is for one of the next connections, in their order.
    public func enqueue(connectionFault faults: ConnectionFault...) {
        state.withLock { $0.connectionFaults += faults }
    }

    /// How many connections were accepted.
    public var connectionCount: Int { state.withLock { $0.connectionCount } }

    /// The requests as they came, byte for byte: head and content with its framing, in the order of their ends.
    ///
    /// Those of HTTP/2 are written as HTTP/1.1 writes them: their heads are compressed on the wire.
    public var receivedBytes: [Data] { state.withLock { $0.received } }

    /// Calls `observer` for each request, with the status of its answer, or `nil` where that is none, on the
    /// connection's thread.
    package func observe(_ observer: @escaping @Sendable (RecordedRequest, Int?) -> Void) {
        state.withLock { $0.observer = observer }
    }

    /// What answers a request: the queue, then the stubs.
    func answer(to request: RecordedRequest) -> Result<(MockResponse, RecordedRequest), any Error> {
        let (queued, observer) = state.withLock { state in
            (state.queue.isEmpty ? nil : state.queue.removeFirst(), state.observer)
        }
        var answer: Result<(MockResponse, RecordedRequest), any Error>
        if let queued {
            stubs.record(request, nil)
            answer = .success((queued, request))
        } else {
            answer = stubs.answer(to: request)
        }
        // A recording that lacks something is said in words, as a missing stub is.
        if case .success((let response, _)) = answer, case .failure(let error as RecordingError) = response.ending {
            answer = .failure(error)
        }
        if let observer {
            let status = (try? answer.get().0).map { $0.hasHead ? $0.status : nil } ?? Self.unmatchedStatus
            observer(request, status)
        }
        return answer
    }

    /// The status for a request that nothing answers.
    static let unmatchedStatus = 501

    func record(_ bytes: Data) { state.withLock { $0.received.append(bytes) } }

    // MARK: Connections

    /// Closes every connection, and listens no more; later calls do nothing.
    public func stop() {
        state.withLock { state in
            guard !state.isStopping else { return }
            state.isStopping = true
            state.shutDownConnections()
            shutdown(listener, Int32(SHUT_RDWR))  // wakes the thread in accept, which closes it
        }
    }

    /// Closes every connection that is open, and goes on listening.
    public func closeConnections() {
        state.withLock { $0.shutDownConnections() }
    }

    private static func accept(_ listener: Int32, server: () -> MockServer?) {
        while true {
            let descriptor = Glibc.accept(listener, nil, nil)
            if descriptor < 0 {
                // A client that left before it was accepted is no reason to stop.
                if errno == ECONNABORTED || errno == EINTR { continue }
                break
            }
            guard let server = server(), let fault = server.adopt(descriptor) else {
                close(descriptor)
                break
            }
            let connection = ServerConnection(descriptor: descriptor, server: server, fault: fault.first)
            Thread { [weak server] in
                connection.serve()
                server?.forget(descriptor)
                close(descriptor)
            }.start()
        }
        close(listener)
    }

    /// The fault of a new connection, if it has one; `nil` when the server has stopped.
    private func adopt(_ descriptor: Int32) -> [ConnectionFault]? {
        state.withLock { state in
            guard !state.isStopping else { return nil }
            state.descriptors.insert(descriptor)
            state.connectionCount += 1
            return state.connectionFaults.isEmpty ? [] : [state.connectionFaults.removeFirst()]
        }
    }

    private func forget(_ descriptor: Int32) {
        _ = state.withLock { $0.descriptors.remove(descriptor) }
    }
}

/// A fault of a whole connection of a ``MockServer``.
public enum ConnectionFault: Sendable, Hashable {
    /// Nothing is wrong with this one.
    case none
    /// Closes at once.
    case closeAtAccept
    /// Resets (RST) at once.
    case resetAtAccept
    /// Reads and never says anything, not even in the TLS handshake.
    case silent
    /// Closes in the TLS handshake, when the client's first message has come; without TLS, when the first bytes have
    /// come.
    case closeInHandshake
    /// Sends these bytes at once, and closes.
    case garbage(Data)
}

/// A ``MockServer`` could not be started; the text says why.
public struct MockServerError: Error, Sendable, CustomStringConvertible, LocalizedError {
    /// Why.
    public let description: String
    /// The description.
    public var errorDescription: String? { description }
}
