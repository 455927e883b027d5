import Alamofire
import Foundation

/// Handlers that are values, on queues of their own.
public final class QueuedClient: Sendable {
    public typealias Handler<Value: Sendable> = @Sendable (AFDataResponse<Value>) -> Void

    private let queue = DispatchQueue(label: "com.example.completion", attributes: .concurrent)
    private let session: Session

    public init(session: Session) {
        self.session = session
    }

    public func string(_ url: URL, handler: @escaping Handler<String>) {
        session.request(url).responseString(queue: queue, completionHandler: handler)
    }

    public func data(_ url: URL, then handler: @escaping Handler<Data>) -> @Sendable () -> Void {
        let request = session.request(url).responseData(queue: queue, completionHandler: handler)
        return { request.cancel() }
    }

    /// A continuation, as before there was an async form.
    public func continued(_ url: URL) async throws -> Data {
        try await withCheckedThrowingContinuation { continuation in
            session.request(url).validate().responseData(queue: queue) { response in
                switch response.result {
                case .success(let data): continuation.resume(returning: data)
                case .failure(let error): continuation.resume(throwing: error)
                }
            }
        }
    }

    public func suspendAll() async -> Int {
        await withCheckedContinuation { continuation in
            session.withAllRequests { requests in
                requests.forEach { $0.suspend() }
                continuation.resume(returning: requests.count)
            }
        }
    }

    public func cancelAll(completion: @escaping @Sendable () -> Void) {
        session.cancelAllRequests(completingOnQueue: queue, completion: completion)
    }
}
