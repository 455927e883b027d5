import Alamofire
import Foundation

class OldMonitor: EventMonitor {
    var log: [String] = []
    let queue = DispatchQueue(label: "com.example.old")

    func requestDidResume(_ request: Request) {
        log.append("resume")
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        log.append("\(data.count)")
    }

    func request<Value>(_ request: DataRequest, didParseResponse response: DataResponse<Value, AFError>) {
        log.append("\(response)")
    }

    func request(_ request: Request, didCompleteTask task: URLSessionTask, with error: AFError?) {
        log.append("\(task.taskIdentifier) \(error?.localizedDescription ?? "")")
    }
}

class OldSession: Session {
    var count = 0

    override func request(
        _ convertible: URLRequestConvertible, interceptor: RequestInterceptor? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataRequest {
        count += 1
        return super.request(
            convertible, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }
}

class OldPolicy: RetryPolicy {
    override func retry(
        _ request: Request, for session: Session, dueTo error: Error, completion: @escaping (RetryResult) -> Void
    ) {
        super.retry(request, for: session, dueTo: error, completion: completion)
    }
}

/// A part of the library's requests as a protocol, with a handler that is not `@Sendable`.
protocol OldRequestType {
    var request: URLRequest? { get }
    func cURLDescription(calling handler: @escaping (String) -> Void) -> Self
}

extension Request: OldRequestType {}

class OldEvaluator: ServerTrustEvaluating {
    var calls = 0

    func evaluate(_ trust: SecTrust, forHost host: String) throws {
        calls += 1
        try trust.af.performDefaultValidation(forHost: host)
    }
}

struct OldTypes {
    let disabled: ServerTrustEvaluating = DisabledEvaluator()
    let errors: [AFError] = [.sessionDeinitialized, .explicitlyCancelled]
}
