import Alamofire
import Foundation

/// Responses that tests make themselves.
enum Fake {
    static func response<Value: Sendable>(_ value: Value, status: Int = 200, url: URL) -> AFDataResponse<Value> {
        AFDataResponse(
            request: URLRequest(url: url),
            response: HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil), data: nil,
            metrics: nil, serializationDuration: 0, result: .success(value))
    }

    static func failure<Value>(_ error: AFError) -> DataResponse<Value, AFError> {
        DataResponse(
            request: nil, response: nil, data: Data(), metrics: nil, serializationDuration: 1.5, result: .failure(error)
        )
    }

    static func download(_ url: URL) -> AFDownloadResponse<URL?> {
        DownloadResponse(
            request: nil, response: nil, fileURL: url, resumeData: nil, metrics: nil, serializationDuration: 0,
            result: AFResult<URL?>.success(url))
    }

    static func names(_ response: AFDownloadResponse<URL?>) -> String? {
        let mapped = response.map { $0?.lastPathComponent }.mapError { $0 as any Error }
        return mapped.tryMap { try $0.map { try $0.asURL().absoluteString } }.value ?? nil
    }
}

struct FakeClient: APIClientProtocol {
    let session: Session

    func get<T: Decodable & Sendable>(
        _ path: String, query: [String: String], completion: @escaping @Sendable (Result<T, AFError>) -> Void
    ) -> Request {
        completion(.failure(.sessionTaskFailed(error: URLError(.notConnectedToInternet))))
        return session.request("https://example.com/\(path)")
    }
}
