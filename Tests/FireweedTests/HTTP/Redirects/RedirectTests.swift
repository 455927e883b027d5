import FixtureServer
import Foundation
import Testing

@testable import Fireweed

@Suite("Redirects", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RedirectTests {
    let server: FixtureServer
    let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
    }

    @Test(
        "redirects are followed, each one a hop of the metrics",
        arguments: ["redirect", "relative-redirect", "absolute-redirect"])
    func followed(kind: String) async throws {
        let response = await session.request(server.url("/\(kind)/3")).validate().serializingData().response
        #expect(response.error == nil)
        #expect(response.response?.url?.path == "/get")
        #expect(response.metrics?.redirectCount == 3)
    }

    @Test(
        "method and content follow RFC 9110 §15.4 and browsers",
        arguments: [
            (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (307, "POST", "POST"),
            (308, "POST", "POST"),
            (301, "PUT", "PUT"), (303, "PUT", "GET"), (303, "HEAD", "HEAD"), (302, "DELETE", "DELETE"),
        ])
    func methods(status: Int, method: String, expected: String) async throws {
        let target = server.url("/anything").absoluteString
        let request = session.request(
            server.url("/redirect-to?url=\(target)&status_code=\(status)"), method: HTTPMethod(rawValue: method),
            parameters: method == "HEAD" ? nil : ["a": "b"], encoder: .json)
        _ = await request.serializingData().response
        let last = try #require(server.requests.last)
        #expect(last.method == expected)
        #expect(last.body.isEmpty == (expected != method || method == "HEAD"))
        #expect((last.field("Content-Type") == nil) == (expected != method || method == "HEAD"))
    }

    @Test("secrets never travel to another origin")
    func secrets() async throws {
        let other = try FixtureServer.start()
        let target = other.url("/anything").absoluteString
        let headers: HTTPHeaders = ["Authorization": "Bearer secret", "Cookie": "a=b", "X-Keep": "1"]
        let request = session.request(server.url("/redirect-to?url=\(target)"), headers: headers)
        let seen = try await request.serializingDecodable(Anything.self).value.headers
        #expect(seen["Authorization"] == nil && seen["Cookie"] == nil && seen["X-Keep"] == "1")
        #expect(server.requests.first?.field("Authorization") == "Bearer secret")
    }

    @Test("secrets stay with the origin that they are for")
    func sameOrigin() async throws {
        let target = server.url("/anything").absoluteString
        let request = session.request(server.url("/redirect-to?url=\(target)"), headers: ["Authorization": "Bearer s"])
        #expect(try await request.serializingDecodable(Anything.self).value.headers["Authorization"] == "Bearer s")
    }

    @Test("a name with a dot at its end is another origin: it may be another machine's", arguments: [true, false])
    func completeName(isComplete: Bool) async throws {
        let target = "http://localhost\(isComplete ? "." : ""):\(server.port)/anything"
        let url = "http://localhost:\(server.port)/redirect-to?url=\(target)"
        let request = session.request(url, headers: ["Authorization": "Bearer s"])
        let seen = try await request.serializingDecodable(Anything.self).value.headers
        #expect(seen["Authorization"] == (isComplete ? nil : "Bearer s"))
    }

    @Test("a handler may take the redirect as the response, or send another request")
    func handlers() async throws {
        let refusing = Session.isolated(redirectHandler: .doNotFollow)
        let refused = await refusing.request(server.url("/redirect/1")).serializingData().response
        #expect(refused.response?.statusCode == 302)
        let elsewhere = server.url("/anything?changed=1")
        let request = session.request(server.url("/redirect/1"))
            .redirect(using: .modify { _, _, _ in URLRequest(url: elsewhere) })
        #expect(try await request.serializingDecodable(Anything.self).value.args == ["changed": "1"])
    }

    @Test("a handler's request sends its own content, in memory or as a stream", arguments: [true, false])
    func contentOfHandler(isStream: Bool) async throws {
        let target = server.url("/anything")
        let request = session.request(server.url("/redirect/1"), method: .post, parameters: ["first": "1"])
            .redirect(
                using: .modify { _, _, _ in
                    var request = URLRequest(url: target)
                    request.httpMethod = "POST"
                    let content = Data("second".utf8)
                    if isStream {
                        request.httpBodyStream = InputStream(data: content)
                    } else {
                        request.httpBody = content
                    }
                    return request
                })
        #expect(try await request.serializingDecodable(Anything.self).value.data == "second")
    }

    @Test(
        "a handler may remove the content or replace it, and nothing else is sent then",
        arguments: [
            (nil, false, ""), (Data(), false, ""), (Data("other".utf8), false, "other"), (nil, true, ""),
        ] as [(Data?, Bool, String)])
    func changedContent(content: Data?, isNew: Bool, expected: String) async throws {
        let target = server.url("/anything").absoluteString
        let request = session.upload(
            Data("secret".utf8), to: server.url("/redirect-to?url=\(target)&status_code=307"), method: .post
        ).redirect(
            using: .modify { _, proposed, _ in
                var request = proposed
                if isNew { request = URLRequest(url: server.url("/anything")) }
                request.httpMethod = "POST"
                request.httpBody = content
                return request
            })
        #expect(try await request.serializingDecodable(Anything.self).value.data == expected)
    }

    @Test("a message that a handler makes a GET has no content", arguments: [nil, "other"])
    func methodOfData(content: String?) async throws {
        let target = server.url("/anything").absoluteString
        let url = server.url("/redirect-to?url=\(target)&status_code=307")
        let request = session.upload(Data("secret".utf8), to: url, method: .post).redirect(
            using: .modify { _, proposed, _ in
                var request = proposed
                request.httpMethod = "GET"
                if let content { request.httpBody = Data(content.utf8) }
                return request
            })
        if content == nil {
            let seen = try await request.serializingDecodable(Anything.self).value
            #expect(seen.method == "GET" && seen.data.isEmpty)
        } else {
            // As with every GET, content of its own is refused.
            #expect(await request.serializingData().response.error != nil && server.requests.count == 1)
        }
    }

    @Test("content of a file stays with a message whose method a handler changes", arguments: ["POST", "GET"])
    func methodOfFile(method: String) async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("file")
        try Data("content".utf8).write(to: file)
        let target = server.url("/anything").absoluteString
        let request = session.upload(
            file, to: server.url("/redirect-to?url=\(target)&status_code=302"), method: .put
        ).redirect(
            using: .modify { _, proposed, _ in
                var request = proposed
                request.httpMethod = method
                return request
            })
        let seen = try await request.serializingDecodable(Anything.self).value
        #expect(seen.method == method && seen.data == (method == "GET" ? "" : "content"))
    }

    @Test("a redirect out of HTTP is refused", arguments: ["file:///etc/passwd", "ftp://127.0.0.1/"])
    func otherSchemes(target: String) async {
        let request = session.request(server.url("/redirect-to?url=\(target)"))
        #expect(await request.serializingData().response.error?.urlErrorCode == .unsupportedURL)
    }

    @Test(
        "a Location is resolved as RFC 3986 and browsers do",
        arguments: [
            ("/b", "http://h/b"), ("b", "http://h/x/b"), ("?q=1", "http://h/x/a?q=1"), ("//other/p", "http://other/p"),
            ("../c", "http://h/c"), ("http://h/ü x", "http://h/%C3%BC%20x"), ("HTTP://H2/p", "http://H2/p"),
            ("/b#own", "http://h/b#own"), ("http://u:p@h/b", "http://u:p@h/b"),
            ("http://u:p@other/b", "http://other/b"),
            ("//u:p@h:81/b", "http://h:81/b"), ("https://u@h/b", "https://h/b"),
        ])
    func locations(location: String, expected: String) throws {
        let base = try #require(URL(string: "http://h/x/a"))
        #expect(RedirectRules.target(of: location, from: base)?.absoluteString == expected)
    }

    @Test("a fragment is inherited where the Location has none (RFC 9110 §10.2.2)")
    func fragment() throws {
        let base = try #require(URL(string: "http://h/a#part"))
        #expect(RedirectRules.target(of: "/b", from: base)?.fragment == "part")
    }

    @Test("a Location that is nothing is an error", arguments: ["", "   ", "http://"])
    func malformed(location: String) throws {
        let base = try #require(URL(string: "http://h/a"))
        #expect(RedirectRules.target(of: location, from: base) == nil)
    }
}
