import Alamofire
import Foundation

enum HeaderUse {
    static func headers(_ token: String) -> HTTPHeaders {
        var headers: HTTPHeaders = [
            .authorization(bearerToken: token), .accept("application/json"), .acceptCharset("utf-8"),
            .acceptLanguage("de"), .acceptEncoding("gzip"), .userAgent("App/1"), .contentType("application/json"),
            .contentDisposition("inline"), .defaultAcceptEncoding, .defaultAcceptLanguage, .defaultUserAgent,
        ]
        headers.add(name: "X-One", value: "1")
        headers.update(HTTPHeader(name: "X-One", value: "2"))
        headers["X-Two"] = "2"
        headers.remove(name: "x-two")
        headers.sort()
        for header in headers where header.name.lowercased() == "accept" { print(header.value, header.description) }
        return headers.sorted()
    }

    static func merged(_ response: HTTPURLResponse?, _ request: URLRequest) -> [String: String] {
        var request = request
        request.method = .patch
        request.headers = HTTPHeaders(["A": "b"])
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.headers = .default
        return (response?.headers ?? HTTPHeaders([HTTPHeader(name: "C", value: "d")])).dictionary
            .merging(request.headers.dictionary) { first, _ in first }
            .merging(configuration.headers.dictionary) { _, second in second }
    }

    static let basic = HTTPHeader.authorization(username: "ada", password: "secret")
    static let methods: [HTTPMethod] = [.get, .post, .put, .patch, .delete, .head, .options, .trace, .connect, .query]
}
