import Alamofire
import Foundation

public enum Router: URLRequestConvertible {
    case articles(page: Int)
    case article(id: Int)
    case create(Article)
    case update(id: Int, fields: [String: String])
    case delete(id: Int)

    static let baseURLString = "https://api.example.com/v1"

    var method: HTTPMethod {
        switch self {
        case .articles, .article: .get
        case .create: .post
        case .update: .patch
        case .delete: .delete
        }
    }

    var path: String {
        switch self {
        case .articles, .create: "/articles"
        case .article(let id), .update(let id, _), .delete(let id): "/articles/\(id)"
        }
    }

    public func asURLRequest() throws -> URLRequest {
        let url = try Router.baseURLString.asURL().appendingPathComponent(path)
        var request = try URLRequest(url: url, method: method, headers: [.accept("application/json")])
        request.cachePolicy = .reloadIgnoringLocalCacheData
        switch self {
        case .articles(let page):
            request = try URLEncoding.queryString.encode(request, with: ["page": page, "sort": ["date", "title"]])
        case .create(let article):
            request = try JSONParameterEncoder(encoder: JSONEncoder()).encode(article, into: request)
        case .update(_, let fields):
            request = try URLEncodedFormParameterEncoder.default.encode(fields, into: request)
        case .article, .delete: break
        }
        return request
    }
}

extension Session {
    @discardableResult
    public func perform<T: Decodable & Sendable>(
        _ route: Router, as type: T.Type, completion: @escaping @Sendable (Result<T, any Error>) -> Void
    ) -> DataRequest {
        request(route).validate().responseDecodable(of: type) { response in
            completion(response.result.mapError { $0.underlyingError ?? $0 })
        }
    }
}
