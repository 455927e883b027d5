import FireweedTesting
import Foundation
import Testing

@Suite("Conditions of stubs", .timeLimit(.minutes(testTimeoutMinutes)))
struct MatcherTests {
    struct PatternRow: Sendable, CustomTestStringConvertible {
        let pattern: String
        let url: String
        let matches: Bool
        var testDescription: String { "\(pattern) \(matches ? "matches" : "does not match") \(url)" }

        init(_ pattern: String, _ url: String, _ matches: Bool) {
            (self.pattern, self.url, self.matches) = (pattern, url, matches)
        }
    }

    @Test(
        "URLs match patterns",
        arguments: [
            PatternRow("/users", "https://a.test/users", true),
            PatternRow("/users", "https://a.test/users?page=2", true),
            PatternRow("/users", "https://a.test/users/", false),
            PatternRow("/users", "https://a.test/Users", false),
            PatternRow("/users/{id}", "https://a.test/users/42", true),
            PatternRow("/users/{id}", "https://a.test/users/", false),
            PatternRow("/users/{id}", "https://a.test/users/42/posts", false),
            PatternRow("/files/*/info", "https://a.test/files/x/info", true),
            PatternRow("/files/**", "https://a.test/files", true),
            PatternRow("/files/**", "https://a.test/files/a/b", true),
            PatternRow("/files/**", "https://a.test/filesystem", false),
            PatternRow("/a b", "https://a.test/a%20b", true),
            PatternRow("https://a.test/x", "https://a.test/x", true),
            PatternRow("https://A.test/x", "https://a.test/x", true),
            PatternRow("https://a.test/x", "http://a.test/x", false),
            PatternRow("https://a.test/x", "https://b.test/x", false),
            PatternRow("https://a.test:8080/x", "https://a.test/x", false),
            PatternRow("https://a.test/x", "https://a.test:443/x", true),
            PatternRow("http://a.test:80/x", "http://a.test/x", true),
            PatternRow("https://a.test:80/x", "https://a.test/x", false),
            PatternRow("https://*.test/x", "https://a.test/x", true),
            PatternRow("https://*.test/x", "https://test/x", false),
            PatternRow("https://a.test/x", "https://u:p@a.test/x", true),
            PatternRow("/x?page=2", "https://a.test/x?size=9&page=2", true),
            PatternRow("/x?page=2", "https://a.test/x?page=3", false),
            PatternRow("/x?page", "https://a.test/x?page=3", true),
            PatternRow("/x?page=2", "https://a.test/x", false),
            PatternRow("**", "https://a.test/anything/at?all", true),
            PatternRow("/", "https://a.test", true),
        ])
    func patterns(row: PatternRow) async {
        let session = Session.stubbed { Stub.any(URLPattern(row.pattern)).reply(.status(204)) }
        let response = await session.request(row.url).serializingData(emptyResponseCodes: [204])
            .response
        #expect((response.error == nil) == row.matches)
        #expect(session.stubs.unmatchedRequests.isEmpty == row.matches)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let matcher: RequestMatcher
        let matches: Bool
        var testDescription: String { "\(matcher) \(matches ? "is met" : "is not met")" }

        init(_ matcher: RequestMatcher, _ matches: Bool) {
            (self.matcher, self.matches) = (matcher, matches)
        }
    }

    private func isMet(_ matcher: RequestMatcher, by request: (Session) -> DataRequest) async -> Bool {
        let session = Session.stubbed { Stub(nil, "**", matcher).reply(.status(204)) }
        return await request(session).serializingData(emptyResponseCodes: [204]).response.error == nil
    }

    @Test(
        "conditions on the head",
        arguments: [
            Row(.query("a", "1"), true), Row(.query("a"), true), Row(.query("a", "2"), false),
            Row(.query("z"), false),
            Row(.query(["a": "1", "b": "x y"]), true), Row(.query(["a": "1"]), false),
            Row(.header("x-token", "t"), true), Row(.header("X-Token"), true),
            Row(.header("X-Token", "u"), false),
            Row(.header("X-Other"), false), Row(.noHeader("X-Other"), true),
            Row(.noHeader("X-Token"), false),
            Row(.cookie("c", "d"), true), Row(.cookie("c", "e"), false),
            Row(.matching { $0.host == "api.example.com" }, true),
            Row(.matching("never") { _ in false }, false),
            Row(.matching { _ in throw CancellationError() }, false),
        ])
    func head(row: Row) async {
        let met = await isMet(row.matcher) {
            $0.request("\(api)/?a=1&b=x%20y", headers: ["X-Token": "t", "Cookie": "a=b; c=d"])
        }
        #expect(met == row.matches)
    }

    @Test(
        "conditions on JSON",
        arguments: [
            Row(.json(["id": 1, "name": "Ada", "tags": ["a", ["deep": nil]]]), true),
            Row(.json(["id": 1.0, "name": "Ada", "tags": ["a", ["deep": nil]]]), true),
            Row(.json(["id": 1, "name": "Ada"]), false),
            Row(.partialJSON(["name": "Ada"]), true),
            Row(.partialJSON(["tags": ["a", [:]]]), true),
            Row(.partialJSON(["tags": ["a"]]), false),
            Row(.partialJSON(["name": "Bo"]), false),
            Row(.json(User(id: 1, name: "Ada")), false),
            Row(.partialJSON(User(id: 1, name: "Ada")), true), Row(.partialJSON(User(id: 2, name: "Ada")), false),
        ])
    func json(row: Row) async {
        let value: JSONValue = ["id": 1, "name": "Ada", "tags": ["a", ["deep": nil]]]
        let met = await isMet(row.matcher) {
            $0.request(api, method: .post, parameters: value, encoder: .json)
        }
        #expect(met == row.matches)
    }

    @Test("parts are cut at their boundary alone, and names in quotes may have every character")
    func parts() async throws {
        let lines = [
            "--edge", "Content-Disposition: form-data; name=\"a; b\"; filename=\"c\\d; e=\\\"f\\\".jpg\"", "",
            "text --edge", "--edges", "more", "--edge", "content-disposition: form-data; Name = plain", "", "",
            "--edge--",
        ]
        let session = Session.stubbed {
            Stub.post("/", .part("a; b", "text --edge\r\n--edges\r\nmore", fileName: "c\\d; e=\"f\".jpg"))
        }
        let request = session.upload(
            Data(lines.joined(separator: "\r\n").utf8), to: "\(api)/",
            headers: [.contentType("multipart/form-data; boundary=\"edge\"")])
        #expect(await request.serializingData(emptyResponseCodes: [200]).response.error == nil)
        #expect(session.stubs.requests[0].parts.map(\.name) == ["a; b", "plain"])
    }

    @Test(
        "conditions on forms and bytes",
        arguments: [
            Row(.form(["a": "x y", "b": "ä&="]), true), Row(.form(["a": "x y"]), false),
            Row(.form(["a": "z", "b": "ä&="]), false), Row(.body("a=x%20y&b=%C3%A4%26%3D"), true),
            Row(.body("a=b"), false), Row(.json([:]), false), Row(.part("a"), false),
        ])
    func form(row: Row) async {
        let met = await isMet(row.matcher) {
            $0.request(api, method: .post, parameters: ["a": "x y", "b": "ä&="])
        }
        #expect(met == row.matches)
    }
}
