import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Header fields that must not be sent", .timeLimit(.minutes(Patience.minutes)))
struct HeaderSafetyTests {
    let server: FixtureServer

    init() throws { server = try FixtureServer.start() }

    private func isRefused(_ error: AFError?, name: String) -> Bool {
        guard case .urlRequestValidationFailed(.invalidHeaderField(name)) = error else { return false }
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
        guard case .urlRequestValidationFailed(.invalidMethod(method)) = response.error else {
            Issue.record("\(String(describing: response.error))")
            return
        }
        #expect(server.connectionCount == 0)
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
