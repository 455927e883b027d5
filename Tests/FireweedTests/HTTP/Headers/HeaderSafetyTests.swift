import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Invalid header fields", .timeLimit(.minutes(TestTimeouts.minutes)))
struct HeaderSafetyTests {
    let server: FixtureServer

    init() throws { server = try FixtureServer.start() }

    private func isRefused(_ error: AFError?, name: String) -> Bool {
        guard case .createURLRequestFailed(RequestSyntaxError.invalidHeaderField(name)) = error else { return false }
        return server.connectionCount == 0
    }

    @Test(
        "a value with a line break or a NUL ends the request before there is a connection",
        arguments: ["a\r\nX-B: c", "a\nb", "a\rb", "\u{0}", "a\u{0}b", "a\r\n", "\r\n\r\nGET / HTTP/1.1"])
    func values(value: String) async {
        let session = Session.isolated()
        let response = await session.request(server.url("/get"), headers: ["X-A": value]).serializingData().response
        #expect(isRefused(response.error, name: "X-A"), "\(String(describing: response.error))")
    }

    @Test(
        "a name that is no token ends the request before there is a connection",
        arguments: ["", " ", "X A", "X:A", "X-A:", "X\r\nB", "X\u{0}", "é", "X(A)", "\"X\"", "X@A", "X\t"])
    func names(name: String) async {
        let session = Session.isolated()
        let response = await session.request(server.url("/get"), headers: [name: "v"]).serializingData().response
        #expect(isRefused(response.error, name: name), "\(String(describing: response.error))")
    }

    @Test(
        "a method that is no token ends the request before there is a connection",
        arguments: ["", "GE T", "GET / HTTP/1.1\r\nX: y", "GÉT"])
    func methods(method: String) async {
        let session = Session.isolated()
        let response = await session.request(server.url("/get"), method: HTTPMethod(rawValue: method)).serializingData()
            .response
        guard case .createURLRequestFailed(RequestSyntaxError.invalidMethod(method)) = response.error else {
            Issue.record("\(String(describing: response.error))")
            return
        }
        #expect(server.connectionCount == 0)
    }

    /// Every way in which a request is made with fields of its own.
    private static let ways: [(String, @Sendable (Session, URL, HTTPHeaders) throws -> Request)] = [
        ("a request", { $0.request($1, headers: $2).response { _ in } }),
        ("parameters", { $0.request($1, method: .post, parameters: ["a": "b"], headers: $2).response { _ in } }),
        (
            "a modifier",
            { session, url, headers in
                session.request(url) { $0.headers = headers }.response { _ in }
            }
        ),
        ("an upload", { $0.upload(Data("a".utf8), to: $1, headers: $2).response { _ in } }),
        (
            "a form",
            {
                $0.upload(multipartFormData: { $0.append(Data(), withName: "a") }, to: $1, headers: $2).response { _ in
                }
            }
        ),
        ("a download", { $0.download($1, headers: $2).response { _ in } }),
        ("a stream", { $0.streamRequest($1, headers: $2).responseStream { _ in } }),
        ("a WebSocket", { $0.webSocketRequest(to: $1, headers: $2).streamMessageEvents { _ in } }),
        (
            "a command of curl",
            { session, url, headers in
                let fields = headers.map { " -H '\($0.name): \($0.value)'" }.joined()
                return session.request(try URLRequest(cURL: "curl \(url.absoluteString)\(fields)")).response { _ in }
            }
        ),
    ]

    @Test(
        "a line break in a value is an error, however the request is made", arguments: Self.ways.map { $0.0 },
        ["a\r\nX-B: c", "a\nb", "a\rb", "a\r\n"])
    func everyWay(name: String, value: String) async throws {
        let way = try #require(Self.ways.first { $0.0 == name }).1
        let session = Session.isolated()
        let request: Request
        do {
            request = try way(session, server.url("/get"), ["X-Own": value])
        } catch {
            return  // the command of curl says so itself
        }
        await eventually("the request ends") { request.isFinished }
        let reason: AFError? = request.error
        #expect(reason?.underlyingError is RequestSyntaxError && server.connectionCount == 0, "\(request)")
    }

    @Test("what an adapter, the session's configuration or a redirect handler brings in is checked, too")
    func elsewhere() async throws {
        let adapter = Session.isolated(
            interceptor: Adapter { request, _, completion in
                var request = request
                request.headers.add(name: "X A", value: "v")
                completion(.success(request))
            })
        let adapted = await adapter.request(server.url("/get")).serializingData().response
        #expect(adapted.error?.isRequestAdaptationError == true && server.connectionCount == 0)
        let configured = Session.isolated { $0.httpAdditionalHeaders = ["X-A": "a\r\nX-B: c"] }
        let response = await configured.request(server.url("/get")).serializingData().response
        #expect(isRefused(response.error, name: "X-A"), "\(String(describing: response.error))")
        let redirector = Session.isolated(
            redirectHandler: Redirector(
                behavior: .modify { _, request, _ in
                    var request = request
                    request.headers.add(name: "X A", value: "v")
                    return request
                }))
        let redirected = await redirector.request(server.url("/redirect-to?url=/anything")).serializingData().response
        #expect(redirected.error != nil)
        #expect(!server.requests.contains { $0.path == "/anything" })
    }

    @Test("of the configuration's fields, numbers are text, and what is neither is left out alone")
    func configuredValues() async throws {
        let session = Session.isolated {
            $0.httpAdditionalHeaders = [
                "X-Text": "text", "X-Number": 42, "X-Fraction": 1.5, "X-Other": Data(), 7: "a name that is no text",
            ]
        }
        _ = try await session.request(server.url("/get")).serializingData().value
        let request = try #require(server.requests.last)
        #expect(request.field("X-Text") == "text" && request.field("X-Number") == "42")
        #expect(request.field("X-Fraction") == "1.5" && request.field("X-Other") == nil)
    }

    @Test(
        "everything else arrives as it was given",
        arguments: ["", "a b", "ä €", "\"q\"; x=1", "a\tb", String(repeating: "x", count: 20_000)])
    func harmless(value: String) async {
        let session = Session.isolated()
        let response = await session.request(server.url("/get"), headers: ["X-!#$%&'*+-.^_`|~1": value])
            .serializingData().response
        #expect(response.error == nil)
        #expect(server.requests.last?.field("X-!#$%&'*+-.^_`|~1") == value)
    }
}
