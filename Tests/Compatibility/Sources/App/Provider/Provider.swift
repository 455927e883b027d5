import Alamofire
import Foundation

public protocol Cancelling: Sendable {
    var isCancelled: Bool { get }
    func cancel()
}

/// What a plugin sees of a request: a part of what the library's requests are.
public protocol RequestFacts {
    var request: URLRequest? { get }
    var sessionHeaders: [String: String] { get }
    func authenticate(username: String, password: String, persistence: URLCredential.Persistence) -> Self
    func authenticate(with credential: URLCredential) -> Self
}

extension Request: RequestFacts {
    public var sessionHeaders: [String: String] {
        delegate?.sessionConfiguration.httpAdditionalHeaders as? [String: String] ?? [:]
    }
}

public protocol Plugin: Sendable {
    func prepare(_ request: URLRequest) -> URLRequest
    func willSend(_ request: any RequestFacts)
    func didReceive(_ result: Result<(Int, Data), any Error>)
}

final class Token: Cancelling, @unchecked Sendable {
    private let lock = NSLock()
    private var request: Request?
    private var wasCancelled = false

    var isCancelled: Bool { lock.withLock { wasCancelled } }

    func attach(_ request: Request) {
        lock.withLock { self.request = request }
    }

    func cancel() {
        let request = lock.withLock {
            wasCancelled = true
            return self.request
        }
        request?.cancel()
    }
}

/// Makes the library's requests of targets, with plugins around them.
public final class Provider<T: Target>: Sendable {
    private let session: ProviderSession
    private let plugins: [any Plugin]

    public static func defaultSession() -> ProviderSession {
        let configuration = URLSessionConfiguration.default
        configuration.headers = .default
        return ProviderSession(configuration: configuration, startRequestsImmediately: false)
    }

    public init(session: ProviderSession = Provider<T>.defaultSession(), plugins: [any Plugin] = []) {
        self.session = session
        self.plugins = plugins
    }

    @discardableResult
    public func request(
        _ target: T, callbackQueue: DispatchQueue = .main,
        completion: @escaping @Sendable (Result<(Int, Data), any Error>) -> Void
    ) -> any Cancelling {
        let token = Token()
        let interceptor = PluginInterceptor(plugins: plugins)
        let finish: @Sendable (Result<(Int, Data), any Error>) -> Void = { [plugins] result in
            plugins.forEach { $0.didReceive(result) }
            completion(result)
        }
        do {
            let urlRequest = try target.urlRequest()
            switch target.work {
            case .multipart(let parts):
                let form = MultipartFormData()
                for part in parts { form.append(part.data, withName: part.name) }
                send(
                    session.upload(multipartFormData: form, with: urlRequest, interceptor: interceptor), target, token,
                    callbackQueue, finish)
            case .file(let file):
                send(
                    session.upload(file, with: urlRequest, interceptor: interceptor), target, token, callbackQueue,
                    finish)
            case .download(let destination):
                let request = session.download(urlRequest, interceptor: interceptor, to: destination)
                    .downloadProgress(queue: callbackQueue) { _ in }
                    .validate(statusCode: target.validation.codes)
                    .response(queue: callbackQueue) { response in
                        finish(
                            response.result.map { _ in (response.response?.statusCode ?? 0, Data()) }.mapError { $0 })
                    }
                token.attach(request)
                request.resume()
            default: send(session.request(urlRequest, interceptor: interceptor), target, token, callbackQueue, finish)
            }
        } catch {
            callbackQueue.async { finish(.failure(error)) }
        }
        return token
    }

    private func send(
        _ request: DataRequest, _ target: T, _ token: Token, _ queue: DispatchQueue,
        _ completion: @escaping @Sendable (Result<(Int, Data), any Error>) -> Void
    ) {
        plugins.forEach { $0.willSend(request) }
        let codes = target.validation.codes
        let validated = codes.isEmpty ? request : request.validate(statusCode: codes)
        token.attach(validated)
        validated
            .response(queue: queue) { response in
                switch (response.response, response.data, response.error) {
                case (let http?, let data, nil): completion(.success((http.statusCode, data ?? Data())))
                case (_, _, let error?): completion(.failure(error))
                default: completion(.failure(URLError(.unknown)))
                }
            }
            .resume()
    }
}

final class PluginInterceptor: ProviderInterceptor {
    private let plugins: [any Plugin]

    init(plugins: [any Plugin]) {
        self.plugins = plugins
    }

    func adapt(
        _ urlRequest: URLRequest, for session: Alamofire.Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        completion(.success(plugins.reduce(urlRequest) { $1.prepare($0) }))
    }
}
