import Alamofire
import Foundation

// A layer above the library, in the shape of the ones that people know.

public typealias Method = Alamofire.HTTPMethod
public typealias ProviderSession = Alamofire.Session
public typealias ProviderParameterEncoding = Alamofire.ParameterEncoding
public typealias ProviderInterceptor = Alamofire.RequestInterceptor
public typealias DownloadDestination = Alamofire.DownloadRequest.Destination

public protocol Target: Sendable {
    var baseURL: URL { get }
    var path: String { get }
    var method: Method { get }
    var work: Work { get }
    var headers: [String: String]? { get }
    var validation: ValidationKind { get }
}

public enum Work: Sendable {
    case plain
    case data(Data)
    case json(any Encodable & Sendable)
    case parameters([String: any Sendable], encoding: any ProviderParameterEncoding)
    case multipart([Part])
    case file(URL)
    case download(DownloadDestination)
}

public struct Part: Sendable {
    let name: String
    let data: Data
}

public enum ValidationKind: Sendable {
    case none, success, redirects
    case custom([Int])

    var codes: [Int] {
        switch self {
        case .none: []
        case .success: Array(200..<300)
        case .redirects: Array(200..<400)
        case .custom(let codes): codes
        }
    }
}

extension Target {
    public var method: Method { .get }
    public var headers: [String: String]? { nil }
    public var validation: ValidationKind { .none }

    func urlRequest() throws -> URLRequest {
        var request = URLRequest(url: baseURL.appendingPathComponent(path))
        request.httpMethod = method.rawValue
        request.allHTTPHeaderFields = headers
        switch work {
        case .plain, .multipart, .file, .download: return request
        case .data(let data):
            request.httpBody = data
            return request
        case .json(let value):
            request.httpBody = try JSONEncoder().encode(value)
            return request
        case .parameters(let parameters, let encoding): return try encoding.encode(request, with: parameters)
        }
    }
}
