import Alamofire
import Foundation

/// Something that can be shown as a command; the library's requests are that without further code.
protocol CommandShowing {
    func cURLDescription() -> String
    func cURLDescription(calling handler: @escaping @Sendable (String) -> Void) -> Self
    func cURLDescription(on queue: DispatchQueue, calling handler: @escaping @Sendable (String) -> Void) -> Self
}

extension Request: CommandShowing {}

enum CURLLogger {
    static func log(_ request: Request) {
        request.cURLDescription { print($0) }
            .cURLDescription(on: .global()) { print($0) }
            .onURLRequestCreation { print($0) }
            .onURLRequestCreation(on: .main, perform: { print($0) })
            .onURLSessionTaskCreation { task in print(task.taskIdentifier) }
        print(request.cURLDescription())
    }

    static func debug<Value>(_ response: DataResponse<Value, AFError>) {
        debugPrint(response)
        print(response.description, response.serializationDuration, response.request as Any)
    }

    static func facts(_ request: Request) -> [Any?] {
        [
            request.id, request.state, request.isInitialized, request.isResumed, request.isSuspended,
            request.isCancelled,
            request.isFinished, request.requests, request.firstRequest, request.lastRequest, request.request,
            request.performedRequests, request.response, request.tasks, request.firstTask, request.lastTask,
            request.task,
            request.allMetrics, request.firstMetrics, request.lastMetrics, request.metrics, request.retryCount,
            request.error, request.uploadProgress, request.downloadProgress, request.credential,
            request.delegate?.sessionConfiguration, request.interceptor, request.eventMonitor, request.underlyingQueue,
            request.serializationQueue, request.cachedResponseHandler, request.redirectHandler,
        ]
    }
}
