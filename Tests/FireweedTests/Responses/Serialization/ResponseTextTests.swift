import Fireweed
import Foundation
import FoundationNetworking
import Testing

@Suite("Response descriptions")
struct ResponseTextTests {
    private let url = "https://h.example/users"

    private func sample() throws -> (URLRequest, HTTPURLResponse) {
        var request = try URLRequest(url: url, method: .post, headers: ["Content-Type": "application/json"])
        request.httpBody = Data(#"{"a":1}"#.utf8)
        let response = try #require(
            try HTTPURLResponse(
                url: url.asURL(), statusCode: 201, httpVersion: "HTTP/1.1",
                headerFields: ["Content-Type": "text/plain", "Age": "1"]))
        return (request, response)
    }

    @Test("the debug description of a data response has Alamofire's lines")
    func data() throws {
        let (request, response) = try sample()
        let described = DataResponse<String, AFError>(
            request: request, response: response, data: Data("one\ntwo\n".utf8), metrics: nil,
            serializationDuration: 0.5, result: .success("value"))
        #expect(
            described.debugDescription == """
                [Request]: POST https://h.example/users
                    [Headers]:
                        Content-Type: application/json
                    [Body]:
                        {"a":1}
                [Response]:
                    [Status Code]: 201
                    [Headers]:
                        Age: 1
                        Content-Type: text/plain
                    [Body]:
                        one
                        two
                [Network Duration]: None
                [Serialization Duration]: 0.5s
                [Result]: success("value")
                """)
        let unmade = DataResponse<String, AFError>(
            request: nil, response: nil, data: nil, metrics: nil, serializationDuration: 0, result: .success("a"))
        #expect(unmade.debugDescription == "[Request]: None\n[Result]: success(\"a\")")
    }

    @Test("the debug description of a download has Alamofire's lines, and no content")
    func download() throws {
        let (_, response) = try sample()
        let described = DownloadResponse<String, AFError>(
            request: try URLRequest(url: url, method: .get), response: response, fileURL: URL(fileURLWithPath: "/a"),
            resumeData: Data(count: 3), metrics: nil, serializationDuration: 0, result: .success("value"))
        #expect(
            described.debugDescription == """
                [Request]: GET https://h.example/users
                    [Headers]: None
                    [Body]: None
                [Response]:
                    [Status Code]: 201
                    [Headers]:
                        Age: 1
                        Content-Type: text/plain
                [File URL]: /a
                [Resume Data]: 3 bytes
                [Network Duration]: None
                [Serialization Duration]: 0.0s
                [Result]: success("value")
                """)
        let unanswered = DownloadResponse<String, AFError>(
            request: try URLRequest(url: url, method: .get), response: nil, fileURL: nil, resumeData: nil,
            metrics: nil, serializationDuration: 0, result: .success("value"))
        #expect(unanswered.debugDescription.contains("\n[Response]: None\n[File URL]: None\n[Resume Data]: None\n"))
    }

    @Test("a failed task's error reads as Alamofire's does, with and without a text of the transport")
    func failedTask() {
        for cause in [URLError(.timedOut), URLError(.timedOut, userInfo: [NSLocalizedDescriptionKey: "too slow"])] {
            let error = AFError.sessionTaskFailed(error: cause)
            let expected = "URLSessionTask failed with error: \(cause.localizedDescription)"
            #expect(error.errorDescription == expected)
            #expect(error.localizedDescription == expected)
        }
    }
}
