import Alamofire
import Foundation

public protocol APIClientProtocol: Sendable {
    func get<T: Decodable & Sendable>(
        _ path: String, query: [String: String], completion: @escaping @Sendable (Result<T, AFError>) -> Void
    ) -> Request
}

/// A wrapper with handlers, as most apps have one.
public final class APIClient: APIClientProtocol, Sendable {
    public static let shared = APIClient(baseURL: URL(string: "https://api.example.com")!)

    private let baseURL: URL
    private let session: Session
    private let decoder: JSONDecoder

    public init(baseURL: URL, session: Session = .default) {
        self.baseURL = baseURL
        self.session = session
        decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
    }

    @discardableResult
    public func get<T: Decodable & Sendable>(
        _ path: String, query: [String: String] = [:], completion: @escaping @Sendable (Result<T, AFError>) -> Void
    ) -> Request {
        session.request(baseURL.appendingPathComponent(path), parameters: query)
            .validate()
            .responseDecodable(of: T.self, decoder: decoder) { completion($0.result) }
    }

    @discardableResult
    public func post<Body: Encodable & Sendable, T: Decodable & Sendable>(
        _ path: String, body: Body, headers: HTTPHeaders = [], queue: DispatchQueue = .main,
        completion: @escaping @Sendable (AFDataResponse<T>) -> Void
    ) -> DataRequest {
        session.request(
            baseURL.appendingPathComponent(path), method: .post, parameters: body, encoder: .json, headers: headers
        ) { $0.timeoutInterval = 5 }
        .validate()
        .responseDecodable(queue: queue, decoder: decoder, completionHandler: completion)
    }

    public func delete(_ path: String, completion: @escaping @Sendable (AFError?) -> Void) {
        let request: DataRequest = session.request(baseURL.appendingPathComponent(path), method: .delete)
        request.validate().responseDecodable(of: Empty.self, emptyResponseCodes: [200, 204, 205]) {
            completion($0.error)
        }
    }

    /// Handlers that are passed on as values.
    public func head(_ path: String, handler: @escaping @Sendable (AFDataResponse<Data?>) -> Void) {
        session.request(baseURL.appendingPathComponent(path), method: .head).response(completionHandler: handler)
    }
}
