import Alamofire
import Foundation

/// A server's addresses.
public enum Server: String, URLConvertible, CaseIterable {
    case production = "https://api.example.com"
    case staging = "https://staging.example.com"

    public func asURL() throws -> URL {
        guard let url = URL(string: rawValue) else { throw AFError.invalidURL(url: self) }
        return url
    }
}

/// An exchange as a value.
public struct Endpoint<Response: Decodable & Sendable>: URLRequestConvertible {
    public var server: Server
    public var path: String
    public var method: HTTPMethod = .get
    public var parameters: Parameters?
    public var encoding: any ParameterEncoding = URLEncoding.default
    public var headers: HTTPHeaders = [:]

    public init(_ path: String, on server: Server = .production) {
        self.path = path
        self.server = server
    }

    public func asURLRequest() throws -> URLRequest {
        let request = try URLRequest(url: server.asURL().appendingPathComponent(path), method: method, headers: headers)
        return try encoding.encode(request, with: parameters)
    }

    public func send(through session: Session = AF) async throws -> Response {
        try await session.request(self).validate().serializingDecodable(Response.self).value
    }
}

extension HTTPMethod {
    public static let purge = HTTPMethod(rawValue: "PURGE")
}

public enum Endpoints {
    public static let me = Endpoint<Profile>("me")

    public static func purge(_ path: String) -> Endpoint<Empty> {
        var endpoint = Endpoint<Empty>(path, on: .staging)
        endpoint.method = .purge
        endpoint.parameters = ["deep": true, "tags": ["a", "b"], "limits": ["depth": 3]]
        endpoint.encoding = JSONEncoding.prettyPrinted
        return endpoint
    }
}
