// A `URLProtocol` whose behaviour each test chooses.

import Fireweed
import Foundation
import FoundationNetworking
import Synchronization
import Testing

/// Takes the requests for hosts that tests have given it, and calls the test's closure when it is started.
final class MockProtocol: URLProtocol {
    /// What a test wants for its host, and what has happened.
    final class Script: Sendable {
        let start: @Sendable (Mock) -> Void
        let canonical: @Sendable (URLRequest) -> URLRequest
        /// "asked", "started", "stopped" and "released", in order.
        let events = ProtectedList<String>()
        /// The requests of the protocols that were started.
        let requests = ProtectedList<URLRequest>()

        init(
            canonical: @escaping @Sendable (URLRequest) -> URLRequest,
            start: @escaping @Sendable (Mock) -> Void
        ) {
            self.canonical = canonical
            self.start = start
        }
    }

    private static let scripts = Mutex<[String: Script]>([:])
    private let script: Script?

    /// Has the class take the requests for a new host; returns the host's URL.
    static func host(
        canonical: @escaping @Sendable (URLRequest) -> URLRequest = { $0 },
        start: @escaping @Sendable (Mock) -> Void
    ) throws -> (url: URL, script: Script) {
        let host = "mock-\(UUID().uuidString.lowercased()).invalid"
        let script = Script(canonical: canonical, start: start)
        scripts.withLock { $0[host] = script }
        return (try #require(URL(string: "http://\(host)/")), script)
    }

    private static func script(of request: URLRequest) -> Script? {
        scripts.withLock { scripts in request.url?.host.flatMap { scripts[$0] } }
    }

    override class func canInit(with request: URLRequest) -> Bool {
        let script = script(of: request)
        script?.events.append("asked")
        return script != nil
    }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest {
        script(of: request)?.canonical(request) ?? request
    }

    required init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
        script = Self.script(of: request)
        super.init(request: request, cachedResponse: cachedResponse, client: client)
    }

    deinit { script?.events.append("released") }

    override func startLoading() {
        script?.events.append("started")
        script?.requests.append(request)
        script?.start(Mock(self))
    }

    override func stopLoading() {
        script?.events.append("stopped")
    }
}

/// A protocol that was started, for closures that answer from any thread.
struct Mock: @unchecked Sendable {
    // SAFETY: a test calls only what `URLProtocol` allows from several threads: its request and its client.
    private let loader: MockProtocol

    init(_ loader: MockProtocol) {
        self.loader = loader
    }

    var request: URLRequest { loader.request }
    var cachedResponse: CachedURLResponse? { loader.cachedResponse }

    func respond(
        _ status: Int = 200, _ fields: [String: String] = [:], policy: URLCache.StoragePolicy = .notAllowed
    ) {
        guard let url = request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: fields)
        else { return }
        respond(response, policy: policy)
    }

    func respond(_ response: URLResponse, policy: URLCache.StoragePolicy = .notAllowed) {
        loader.client?.urlProtocol(loader, didReceive: response, cacheStoragePolicy: policy)
    }

    func load(_ text: String) {
        load(Data(text.utf8))
    }

    func load(_ data: Data) {
        loader.client?.urlProtocol(loader, didLoad: data)
    }

    func finish() {
        loader.client?.urlProtocolDidFinishLoading(loader)
    }

    func fail(_ error: any Error) {
        loader.client?.urlProtocol(loader, didFailWithError: error)
    }

    func redirect(to request: URLRequest, _ response: URLResponse) {
        loader.client?.urlProtocol(loader, wasRedirectedTo: request, redirectResponse: response)
    }

    func challenge(_ challenge: URLAuthenticationChallenge) {
        loader.client?.urlProtocol(loader, didReceive: challenge)
    }

    func useCachedResponse() {
        guard let cached = cachedResponse else { return }
        loader.client?.urlProtocol(loader, cachedResponseIsValid: cached)
    }

    /// A whole response.
    func answer(
        _ text: String, status: Int = 200, _ fields: [String: String] = [:],
        policy: URLCache.StoragePolicy = .notAllowed
    ) {
        respond(status, fields, policy: policy)
        load(text)
        finish()
    }
}

extension Session {
    /// A session whose requests the classes perform that take them.
    static func mocked(
        by classes: [AnyClass] = [MockProtocol.self], interceptor: (any RequestInterceptor)? = nil,
        startRequestsImmediately: Bool = true, redirectHandler: (any RedirectHandler)? = nil,
        eventMonitors: [any EventMonitor] = [], configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> Session {
        .isolated(
            interceptor: interceptor, startRequestsImmediately: startRequestsImmediately,
            redirectHandler: redirectHandler, eventMonitors: eventMonitors
        ) { configuration in
            configuration.protocolClasses = classes
            configure(configuration)
        }
    }
}

extension URLRequest {
    /// The content, read from the stream that a `URLProtocol` finds it in.
    func readContent() -> Data? {
        guard let stream = httpBodyStream else { return nil }
        stream.open()
        defer { stream.close() }
        var content = Data()
        var buffer = [UInt8](repeating: 0, count: 4096)
        while stream.hasBytesAvailable {
            let count = stream.read(&buffer, maxLength: buffer.count)
            guard count > 0 else { break }
            content.append(contentsOf: buffer[..<count])
        }
        return stream.streamError == nil ? content : nil
    }
}
