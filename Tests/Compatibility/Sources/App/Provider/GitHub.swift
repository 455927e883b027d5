import Alamofire
import Foundation

public enum GitHub: Target {
    case zen
    case user(String)
    case create(name: String, isPrivate: Bool)

    public var baseURL: URL { URL(string: "https://api.github.com")! }

    public var path: String {
        switch self {
        case .zen: "/zen"
        case .user(let name): "/users/\(name)"
        case .create: "/user/repos"
        }
    }

    public var method: Method {
        if case .create = self { .post } else { .get }
    }

    public var work: Work {
        switch self {
        case .zen: .plain
        case .user: .parameters(["per_page": 10], encoding: URLEncoding.queryString)
        case .create(let name, let isPrivate):
            .parameters(["name": name, "private": isPrivate], encoding: JSONEncoding.default)
        }
    }

    public var validation: ValidationKind { .success }
}

struct LoggerPlugin: Plugin {
    let log: @Sendable (String) -> Void

    func prepare(_ request: URLRequest) -> URLRequest {
        var request = request
        request.headers.add(.userAgent("Provider"))
        return request
    }

    func willSend(_ request: any RequestFacts) {
        log("\(request.request?.url?.absoluteString ?? "") \(request.sessionHeaders.count)")
    }

    func didReceive(_ result: Result<(Int, Data), any Error>) {
        log("\(result)")
    }
}

extension Provider where T == GitHub {
    static let gitHub = Provider<GitHub>(plugins: [LoggerPlugin { print($0) }])

    func zen() async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            request(.zen) { result in
                continuation.resume(with: result.map { String(decoding: $0.1, as: UTF8.self) })
            }
        }
    }
}
