import Alamofire
import Foundation

/// Dictionaries, as they were before `Decodable`.
public final class OldJSON {
    public init() {}

    public func load(_ url: URL, session: Session = AF, completion: @escaping ([String: Any]?, Error?) -> Void) {
        session.request(url, method: .post, parameters: ["a": 1, "b": ["c": "d"]], encoding: JSONEncoding.default)
            .responseJSON { response in
                switch response.result {
                case .success(let value):
                    let json = value as? [String: Any]
                    completion(json, nil)
                case .failure(let error):
                    completion(nil, error)
                }
            }
    }

    func list(_ url: URL, completion: @escaping ([[String: Any]]) -> Void) {
        AF.request(url).responseJSON(queue: .main, options: .allowFragments) { (response: AFDataResponse<Any>) in
            guard let items = response.value as? [[String: Any]] else { return completion([]) }
            completion(items.filter { $0["id"] is Int })
        }
    }

    func object(_ data: Data) throws -> [String: Any]? {
        let serializer = JSONResponseSerializer(options: [.mutableContainers])
        return try serializer.serialize(request: nil, response: nil, data: data, error: nil) as? [String: Any]
    }
}
