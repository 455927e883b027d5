import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Data requests", .timeLimit(.minutes(TestTimeouts.minutes)))
struct DataRequestTests {
    let server: FixtureServer
    let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
    }

    @Test("a GET is decoded")
    func getDecoded() async throws {
        let request = session.request(server.url("/anything?a=1")).validate()
        let value = try await request.serializingDecodable(Anything.self).value
        #expect(value.method == "GET")
        #expect(value.args == ["a": "1"])
        #expect(request.state == .finished)
        #expect(request.response?.statusCode == 200)
        #expect(request.description == "GET \(server.url("/anything?a=1").absoluteString) (200)")
    }

    @Test("parameters go into the query of a GET and the content of a POST", arguments: [HTTPMethod.get, .post])
    func parameters(method: HTTPMethod) async throws {
        let request = session.request(server.url("/anything"), method: method, parameters: ["name": "a b", "x": "ü"])
        let value = try await request.serializingDecodable(Anything.self).value
        #expect((method == .get ? value.args : value.form) == ["name": "a b", "x": "ü"])
    }

    @Test("JSON parameters are sent with their type")
    func json() async throws {
        let request = session.request(
            server.url("/anything"), method: .put, parameters: ["name": "value"], encoder: .json)
        let value = try await request.serializingDecodable(Anything.self).value
        #expect(value.data == #"{"name":"value"}"#)
        #expect(value.headers["Content-Type"] == "application/json")
    }

    @Test("any token is a method", arguments: ["GET", "DELETE", "PROPFIND", "X-Y.Z~1", "PATCH", "OPTIONS"])
    func methods(method: String) async throws {
        let request = session.request(server.url("/anything"), method: HTTPMethod(rawValue: method))
        #expect(try await request.serializingDecodable(Anything.self).value.method == method)
    }

    @Test("HEAD has no content and is still a success")
    func head() async throws {
        let response = await session.request(server.url("/get"), method: .head).validate().serializingData().response
        #expect(response.value == Data())
        #expect(response.response?.statusCode == 200)
    }

    @Test("the default fields are sent, and the request's own win")
    func fields() async throws {
        let request = session.request(server.url("/anything"), headers: ["accept-language": "de", "X-Own": "1"])
        let headers = try await request.serializingDecodable(Anything.self).value.headers
        #expect(headers["Accept-Encoding"] == "br;q=1.0, gzip;q=0.9, deflate;q=0.8")
        #expect(headers["accept-language"] == "de")
        #expect(headers["Accept-Language"] == nil)
        #expect(headers["X-Own"] == "1")
        #expect(headers["User-Agent"]?.hasSuffix("Fireweed/\(AFInfo.version)") == true)
    }

    @Test("content codings are undone", arguments: ["gzip", "deflate", "brotli", "zstd"])
    func codings(name: String) async throws {
        let value = try await session.request(server.url("/\(name)")).serializingDecodable(Anything.self).value
        #expect(value.method == "GET")
    }

    @Test("every completion-handler form is called, in the order in which they were added")
    func handlers() async throws {
        let names = EventNames()
        let queue = DispatchQueue(label: "handlers")
        let request = session.request(server.url("/anything"))
        await withCheckedContinuation { continuation in
            request
                .response(queue: queue) { _ in names.add("response") }
                .responseData(queue: queue) { _ in names.add("data") }
                .responseString(queue: queue) { response in names.add(response.value?.isEmpty == false ? "string" : "-")
                }
                .responseJSON(queue: queue) { response in
                    names.add((response.value as? [String: Any])?["method"] as? String ?? "-")
                }
                .responseDecodable(of: Anything.self, queue: queue) { response in
                    names.add(response.value?.method ?? "-")
                    continuation.resume()
                }
        }
        #expect(names.all == ["response", "data", "string", "GET", "GET"])
    }

    @Test("a handler that comes late runs with the stored outcome")
    func lateHandler() async throws {
        let request = session.request(server.url("/get"))
        let first = await request.serializingData().response
        let second = await request.serializingString().response
        #expect(first.data == second.data)
        #expect(request.state == .finished)
        #expect(server.requests.count == 1)
    }

    @Test("awaiting twice gives the same answer")
    func awaitTwice() async throws {
        let task = session.request(server.url("/uuid")).serializingString()
        let first = try await task.value
        #expect(try await task.value == first)
    }

    @Test("an invalid URL fails before anything is sent")
    func invalidURL() async {
        let error = await session.request("http://[broken").serializingData().response.error
        #expect(error?.isInvalidURLError == true)
    }

    @Test("a GET with content is refused")
    func getWithBody() async throws {
        var request = URLRequest(url: server.url("/get"))
        request.httpBody = Data("x".utf8)
        let error = await session.request(request).serializingData().response.error
        #expect(error?.isURLRequestValidationError == true)
        #expect(server.requests.isEmpty)
    }

    @Test(
        "the content of a POST without a type gets that of URLSession, and no other content does",
        arguments: [
            ("POST", "a=b", nil, "application/x-www-form-urlencoded"), ("POST", "a=b", "text/x", "text/x"),
            ("PUT", "a=b", nil, nil), ("POST", "", nil, nil),
        ] as [(String, String, String?, String?)])
    func contentType(method: String, content: String, own: String?, sent: String?) async throws {
        var request = URLRequest(url: server.url("/anything"))
        request.httpMethod = method
        request.httpBody = Data(content.utf8)
        if let own { request.setValue(own, forHTTPHeaderField: "Content-Type") }
        _ = try await session.request(request).serializingData().value
        #expect(server.requests.last?.field("Content-Type") == sent)
        _ = try await session.upload(Data("a".utf8), to: server.url("/anything")).serializingData().value
        #expect(server.requests.last?.field("Content-Type") == nil)
    }

    @Test(
        "fields that could forge others never reach the wire",
        arguments: [("X-A", "1\r\nX-B: 2"), ("X A", "1"), ("", "1"), ("X-A", "a\u{0}b"), ("X:A", "1")])
    func forgedFields(name: String, value: String) async {
        let error = await session.request(server.url("/get"), headers: [name: value]).serializingData().response.error
        #expect(error?.underlyingError is RequestSyntaxError)
        #expect(server.connectionCount == 0)
    }

    @Test(
        "unsupported schemes are refused", arguments: ["file:///etc/passwd", "ftp://localhost/", "gopher://localhost/"])
    func schemes(url: String) async {
        let error = await session.request(url).serializingData().response.error
        #expect(error?.urlErrorCode == .unsupportedURL)
    }

    @Test("metrics say what happened, and nothing that did not")
    func metrics() async throws {
        let first = await session.request(server.url("/get")).serializingData().response
        let second = await session.request(server.url("/get")).serializingData().response
        let one = try #require(first.metrics?.transactionMetrics.first)
        let two = try #require(second.metrics?.transactionMetrics.first)
        #expect(!one.isReusedConnection && two.isReusedConnection)
        #expect(one.connectEndDate != nil && two.connectEndDate == nil)
        #expect(one.secureConnectionStartDate == nil && one.negotiatedTLSProtocolVersion == nil)
        #expect(one.networkProtocolName == "http/1.1")
        #expect(one.remoteAddress == "127.0.0.1" && one.remotePort == Int(server.port))
        #expect(one.countOfResponseBodyBytesAfterDecoding == Int64(first.data?.count ?? -1))
        let start = try #require(one.fetchStartDate)
        let end = try #require(one.responseEndDate)
        #expect(start <= end && abs(start.timeIntervalSinceNow) < 60)
    }
}

/// Names in the order in which they came.
final class EventNames: Sendable {
    private let names = ProtectedList<String>()
    func add(_ name: String) { names.append(name) }
    var all: [String] { names.all }
}
