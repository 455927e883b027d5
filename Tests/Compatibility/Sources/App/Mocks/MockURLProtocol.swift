import Alamofire
import Foundation

/// Answers requests from a table, without a network.
public final class MockURLProtocol: URLProtocol {
    public struct Stub: Sendable {
        public var status: Int
        public var headers: [String: String]
        public var data: Data

        public init(status: Int = 200, headers: [String: String] = [:], data: Data = Data()) {
            self.status = status
            self.headers = headers
            self.data = data
        }
    }

    private static let table = Table()

    public static func stub(_ path: String, with stub: Stub) {
        table.set(stub, for: path)
    }

    public static func session() -> Session {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.protocolClasses = [MockURLProtocol.self] + (configuration.protocolClasses ?? [])
        return Session(configuration: configuration)
    }

    public override class func canInit(with request: URLRequest) -> Bool {
        request.url?.host == "mock.example.com"
    }

    public override class func canonicalRequest(for request: URLRequest) -> URLRequest {
        request
    }

    public override func startLoading() {
        guard let url = request.url, let stub = Self.table.stub(for: url.path),
            let response = HTTPURLResponse(
                url: url, statusCode: stub.status, httpVersion: "HTTP/1.1", headerFields: stub.headers)
        else {
            client?.urlProtocol(self, didFailWithError: URLError(.fileDoesNotExist))
            return
        }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: stub.data)
        client?.urlProtocolDidFinishLoading(self)
    }

    public override func stopLoading() {}
}

private final class Table: @unchecked Sendable {
    private let lock = NSLock()
    private var stubs: [String: MockURLProtocol.Stub] = [:]

    func set(_ stub: MockURLProtocol.Stub, for path: String) {
        lock.withLock { stubs[path] = stub }
    }

    func stub(for path: String) -> MockURLProtocol.Stub? {
        lock.withLock { stubs[path] }
    }
}
