import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Header fields")
struct HTTPHeadersTests {
    @Test("names are compared without case, and keep their place")
    func order() {
        var headers: HTTPHeaders = ["B": "1", "a": "2", "b": "3"]
        #expect(headers.map(\.description) == ["b: 3", "a: 2"])
        headers["A"] = nil
        #expect(headers.value(for: "B") == "3" && headers.count == 1)
        headers.add(name: "A", value: "4")
        #expect(headers.sorted().map(\.name) == ["A", "b"])
    }

    @Test("credentials become an Authorization field")
    func authorization() {
        #expect(HTTPHeader.authorization(username: "u", password: "p").value == "Basic dTpw")
        #expect(HTTPHeader.authorization(bearerToken: "t").value == "Bearer t")
    }

    @Test("the user agent names program, system and library")
    func userAgent() {
        #expect(HTTPHeader.defaultUserAgent.value.contains("Linux "))
        #expect(HTTPHeader.defaultUserAgent.value.hasSuffix(" Fireweed/\(AFInfo.version)"))
    }

    @Test("many are found, replaced, removed and sorted like few", arguments: [5, 31, 32, 33, 100])
    func many(count: Int) {
        var headers = HTTPHeaders((0..<count).map { HTTPHeader(name: "X-\($0)", value: "old") })
        for number in 0..<count { headers.update(name: "x-\(number)", value: "\(number)") }
        #expect(headers.count == count && headers.map(\.value) == (0..<count).map(String.init))
        headers.remove(name: "X-0")
        headers.add(name: "A", value: "new")
        headers.sort()
        #expect(headers["a"] == "new" && headers["x-0"] == nil && headers.first?.name == "A")
        #expect((1..<count).allSatisfy { headers["X-\($0)"] == "\($0)" })
        #expect(headers == HTTPHeaders(Array(headers)) && headers.hashValue == HTTPHeaders(Array(headers)).hashValue)
    }
}

@Suite("Header fields on the wire", .timeLimit(.minutes(TestTimeouts.minutes)))
struct HeaderFieldsOnTheWireTests {
    /// Which names the server saw, of those that begin like this.
    private func names(_ server: FixtureServer, _ prefix: String = "soap") -> [String] {
        server.requests.last?.fields.map(\.name).filter { $0.lowercased().hasPrefix(prefix) } ?? []
    }

    @Test("names keep their case, with monitors and without")
    func nameCase() async throws {
        let server = try FixtureServer.start()
        let headers: HTTPHeaders = ["SOAPAction": "a", "x-lower": "b"]
        let adding = Adapter { request, _, completion in
            var request = request
            request.headers.add(name: "SOAPOther", value: "c")
            request.setValue("d", forHTTPHeaderField: "Own")
            completion(.success(request))
        }
        let plain = Session.isolated()
        _ = try await plain.request(server.url("/get"), headers: headers).serializingData().value
        #expect(names(server) == ["SOAPAction"])
        let adapted = Session.isolated(interceptor: adding)
        _ = try await adapted.request(server.url("/get"), headers: headers).serializingData().value
        #expect(names(server) == ["SOAPAction", "SOAPOther"] && names(server, "x-lower") == ["x-lower"])
        _ = try await plain.request(server.url("/post"), method: .post, parameters: ["a": "b"], headers: headers)
            .serializingData().value
        #expect(names(server) == ["SOAPAction"])
        let redirected = Session.isolated(
            redirectHandler: Redirector(
                behavior: .modify { _, request, _ in
                    var request = request
                    request.setValue("e", forHTTPHeaderField: "Own")
                    return request
                }))
        let response = await redirected.request(server.url("/redirect-to?url=/get"), headers: headers)
            .serializingData().response
        #expect(names(server) == ["SOAPAction"] && server.requests.last?.path == "/get")
        let shown = response.metrics?.transactionMetrics.last?.request.allHTTPHeaderFields
        #expect(shown?["SOAPAction"] == "a")
    }

    @Test("10,000 arrive", arguments: [false, true])
    func many(isAdapted: Bool) async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), .close,
        ])
        let headers = HTTPHeaders((0..<10_000).map { HTTPHeader(name: "X-Field-\($0)", value: "v") })
        let adapter = Adapter { request, _, completion in completion(.success(request)) }
        let session = isAdapted ? Session.isolated(interceptor: adapter) : Session.isolated()
        #expect(try await session.request(server.url(), headers: headers).serializingString().value == "ok")
        let head = server.events.events.compactMap { if case .head(_, let head) = $0 { head } else { nil } }.first
        #expect(head?.split(separator: "\r\n").count { $0.hasPrefix("X-Field-") } == 10_000)
    }

    @Test("a million are too long for a head: an error, in no quadratic time", arguments: [false, true])
    func tooMany(isAdapted: Bool) async throws {
        let headers = HTTPHeaders((0..<1_000_000).map { HTTPHeader(name: "X-\($0)", value: "v") })
        let adapter = Adapter { request, _, completion in completion(.success(request)) }
        let session = isAdapted ? Session.isolated(interceptor: adapter) : Session.isolated()
        let server = try ScriptedServer.start([.hold])
        let error = await session.request(server.url(), headers: headers).serializingData().response.error
        #expect(error?.urlErrorCode == .dataLengthExceedsMaximum, "\(String(describing: error))")
    }
}
