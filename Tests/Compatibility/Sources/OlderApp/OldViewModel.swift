import Alamofire
import Foundation

class OldViewModel {
    var items: [String] = []
    var onChange: (() -> Void)?
    private var request: Request?

    func load() {
        var count = 0
        let started = Date()
        request = AF.request("https://example.com/items")
            .downloadProgress { progress in
                count += 1
                print(progress.fractionCompleted, count)
            }
            .responseDecodable(of: [String].self) { [weak self] response in
                guard let self = self else { return }
                self.items = response.value ?? []
                self.onChange?()
                print(Date().timeIntervalSince(started), count)
            }
    }

    func loadAll(_ paths: [String], completion: @escaping ([String: Data]) -> Void) {
        let group = DispatchGroup()
        var results: [String: Data] = [:]
        for path in paths {
            group.enter()
            AF.request("https://example.com/" + path).responseData { response in
                defer { group.leave() }
                results[path] = response.data
            }
        }
        group.notify(queue: .main) { completion(results) }
    }
}

@MainActor final class MainModel {
    var items: [String] = []

    func load(_ url: URL) {
        AF.request(url).responseDecodable(of: [String].self) { self.items = $0.value ?? [] }
    }

    func load(from url: URL, then completion: @escaping ([String]) -> Void) {
        AF.request(url).responseDecodable(of: [String].self) { response in
            self.items = response.value ?? []
            completion(self.items)
        }
    }
}

enum OldRouter: URLRequestConvertible {
    case list, detail(Int)

    func asURLRequest() throws -> URLRequest {
        let url = try "https://example.com".asURL()
        switch self {
        case .list: return try URLRequest(url: url.appendingPathComponent("list"), method: .get)
        case let .detail(id):
            let request = URLRequest(url: url.appendingPathComponent("detail"))
            return try URLEncoding.default.encode(request, with: ["id": id])
        }
    }
}
