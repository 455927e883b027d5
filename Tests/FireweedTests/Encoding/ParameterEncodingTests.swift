import Fireweed
import Foundation
import FoundationNetworking
import Testing

@Suite("Parameters as dictionaries")
struct ParameterEncodingTests {
    private func query(_ parameters: Parameters, _ encoding: URLEncoding = .default, url: String = "https://h/") throws
        -> String?
    {
        let request = try encoding.encode(URLRequest(url: #require(URL(string: url))), with: parameters)
        return URLComponents(url: try #require(request.url), resolvingAgainstBaseURL: false)?.percentEncodedQuery
    }

    @Test("values are written as documented, keys sorted")
    func values() throws {
        #expect(try query(["b": 1, "a": "x y"]) == "a=x%20y&b=1")
        #expect(try query(["a": [1, 2]]) == "a%5B%5D=1&a%5B%5D=2")
        let nested: Parameters = ["c": 1, "b": true]
        #expect(try query(["a": nested]) == "a%5Bb%5D=1&a%5Bc%5D=1")
        #expect(try query(["a": true]) == "a=1")
        #expect(try query(["a": 1.0]) == "a=1.0")
        #expect(try query(["a": Int64.max]) == "a=9223372036854775807")
        #expect(try query(["a": NSNumber(value: true)]) == "a=1")
        let optional: String? = "x"
        #expect(try query(["a": optional]) == "a=x")
    }

    @Test("options change arrays and Booleans")
    func options() throws {
        #expect(try query(["a": [1, 2]], URLEncoding(arrayEncoding: .noBrackets)) == "a=1&a=2")
        #expect(try query(["a": [1, 2]], URLEncoding(arrayEncoding: .indexInBrackets)) == "a%5B0%5D=1&a%5B1%5D=2")
        #expect(try query(["a": [1]], URLEncoding(arrayEncoding: .custom { "\($0).\($1)" })) == "a.0=1")
        #expect(try query(["a": false], URLEncoding(boolEncoding: .literal)) == "a=false")
    }

    /// An encoding with content of its own, such as that of a signer.
    private struct Signing: ParameterEncoding {
        func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
            var request = try urlRequest.asURLRequest()
            request.httpBody = Data("signed \(parameters?.count ?? -1)".utf8)
            return request
        }
    }

    @Test("an app's own encoding is asked without parameters too")
    func ownEncoding() async throws {
        let session = Session.isolated(startRequestsImmediately: false)
        for (parameters, body) in [(nil, "signed -1"), ([:], "signed 0")] as [(Parameters?, String)] {
            let request = session.request("https://h/", method: .post, parameters: parameters, encoding: Signing())
            #expect(try request.convertible.asURLRequest().httpBody == Data(body.utf8))
            let download = session.download("https://h/", method: .post, parameters: parameters, encoding: Signing())
            guard case .request(let convertible) = download.downloadable else { continue }
            #expect(try convertible.asURLRequest().httpBody == Data(body.utf8))
        }
    }

    @Test("an existing query stays in front")
    func existing() throws {
        #expect(try query(["b": "2"], url: "https://h/?a=1") == "a=1&b=2")
    }

    @Test("everything but the documented characters is escaped")
    func escaping() {
        let all = String(String.UnicodeScalarView((0x20..<0x7F).compactMap(UnicodeScalar.init)))
        let kept = URLEncoding.default.escape(all).replacing(#/%[0-9A-F]{2}/#, with: "")
        #expect(Set(kept) == Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/?"))
        #expect(URLEncoding.default.escape("日本 &=+#") == "%E6%97%A5%E6%9C%AC%20%26%3D%2B%23")
    }

    @Test("JSON takes what JSON can hold, and refuses the rest without a trap")
    func json() throws {
        let url = try #require(URL(string: "https://h/"))
        let request = try JSONEncoding.default.encode(try URLRequest(url: url, method: .post), with: ["a": [1, 2]])
        #expect(request.httpBody == Data(#"{"a":[1,2]}"#.utf8))
        #expect(request.headers["Content-Type"] == "application/json")
        #expect(throws: AFError.self) {
            try JSONEncoding.default.encode(URLRequest(url: url, method: .post), with: ["a": Date()])
        }
    }

    /// An encoding of the caller that throws.
    private struct FailingEncoding: ParameterEncoding {
        let error: any Error

        func encode(_ urlRequest: any URLRequestConvertible, with parameters: Parameters?) throws -> URLRequest {
            throw error
        }
    }

    private func error(of thrown: any Error) async -> AFError? {
        let session = Session.isolated()
        let encoding = FailingEncoding(error: thrown)
        let request = session.request("http://127.0.0.1:9/", parameters: ["a": 1], encoding: encoding)
        defer { withExtendedLifetime(session) {} }
        return await request.serializingData().response.error
    }

    @Test("an error of a custom encoding is createURLRequestFailed, and an AFError stays as it is, as with Alamofire")
    func customEncoding() async throws {
        let plain = await error(of: URLError(.cannotParseResponse))
        guard case .createURLRequestFailed(let cause as URLError) = plain, cause.code == .cannotParseResponse else {
            Issue.record("\(String(describing: plain))")
            return
        }
        let own = AFError.parameterEncodingFailed(reason: .customEncodingFailed(error: URLError(.badURL)))
        let kept = await error(of: own)
        guard case .parameterEncodingFailed(.customEncodingFailed(let inner as URLError)) = kept else {
            Issue.record("\(String(describing: kept))")
            return
        }
        #expect(inner.code == .badURL && kept?.underlyingError is URLError)
    }
}
