import Alamofire
import Foundation

// Code from before Swift's concurrency: nothing here says `Sendable`, and Swift 5 mode asks for none.

typealias Completion<T> = (Result<T, Error>) -> Void

class OldClient {
    static var shared = OldClient()

    var baseURL = "https://api.example.com"
    var token: String?
    var lastError: Error?

    func get<T: Decodable>(_ path: String, parameters: Parameters? = nil, completion: @escaping Completion<T>) {
        AF.request(
            baseURL + path, method: .get, parameters: parameters, encoding: URLEncoding.default, headers: headers
        )
        .validate()
        .responseDecodable(of: T.self) { response in
            switch response.result {
            case .success(let value): completion(.success(value))
            case .failure(let error):
                self.lastError = error
                completion(.failure(error))
            }
        }
    }

    func post<Body: Encodable, T: Decodable>(_ path: String, body: Body, completion: @escaping (T?) -> Void) {
        AF.request(
            baseURL + path, method: .post, parameters: body, encoder: JSONParameterEncoder.default, headers: headers
        )
        .responseDecodable { (response: AFDataResponse<T>) in completion(response.value) }
    }

    func raw(_ path: String, _ completion: @escaping (Data?, HTTPURLResponse?, Error?) -> Void) -> DataRequest {
        return AF.request(baseURL + path).response { completion($0.data, $0.response, $0.error) }
    }

    private var headers: HTTPHeaders {
        var headers: HTTPHeaders = ["Accept": "application/json"]
        if let token = token { headers["Authorization"] = "Bearer " + token }
        return headers
    }
}
