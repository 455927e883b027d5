import Alamofire
import Foundation

public actor AsyncClient {
    private let session: Session
    private let baseURL: URL
    private var token: String?

    public init(baseURL: URL, configuration: URLSessionConfiguration = .af.default) {
        self.baseURL = baseURL
        configuration.timeoutIntervalForRequest = 15
        configuration.httpAdditionalHeaders?["X-Client"] = "async"
        session = Session(configuration: configuration)
    }

    public func logIn(user: String, password: String) async throws {
        struct Answer: Decodable, Sendable { let token: String }
        let answer =
            try await session
            .request(
                baseURL.appendingPathComponent("login"), method: .post,
                parameters: ["user": user, "password": password]
            )
            .validate()
            .serializingDecodable(Answer.self)
            .value
        token = answer.token
    }

    public func value<T: Decodable & Sendable>(_ type: T.Type = T.self, at path: String) async throws -> T {
        var headers = HTTPHeaders.default
        if let token { headers.add(.authorization(bearerToken: token)) }
        let task = session.request(baseURL.appendingPathComponent(path), headers: headers).serializingDecodable(type)
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    public func text(at path: String) async -> Result<String, AFError> {
        await session.request(baseURL.appendingPathComponent(path)).serializingString(encoding: .utf8).result
    }

    public func data(at path: String) async throws -> (Data, HTTPURLResponse?) {
        let response = await session.request(baseURL.appendingPathComponent(path))
            .serializingData(automaticallyCancelling: true, emptyResponseCodes: [204])
            .response
        return (try response.result.get(), response.response)
    }

    /// Several at once, the first failure ends them all.
    public func all<T: Decodable & Sendable>(_ type: T.Type, at paths: [String]) async throws -> [T] {
        try await withThrowingTaskGroup(of: (Int, T).self) { group in
            for (index, path) in paths.enumerated() {
                group.addTask { (index, try await self.value(T.self, at: path)) }
            }
            var found: [(Int, T)] = []
            for try await element in group { found.append(element) }
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }
}
