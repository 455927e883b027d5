import Alamofire
import Foundation

/// A session with an initialiser of its own above Alamofire's designated one.
public final class TenantSession: Session, @unchecked Sendable {
    public convenience init(tenant: String, interceptor: (any RequestInterceptor)? = nil) {
        let configuration = URLSessionConfiguration.af.default
        configuration.headers.add(name: "X-Tenant", value: tenant)
        let delegate = SessionDelegate()
        let rootQueue = DispatchQueue(label: "com.example.tenant.\(tenant)")
        let delegateQueue = OperationQueue()
        delegateQueue.maxConcurrentOperationCount = 1
        delegateQueue.underlyingQueue = rootQueue
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: delegateQueue)
        self.init(session: session, delegate: delegate, rootQueue: rootQueue, interceptor: interceptor)
    }
}

/// One that needs nothing of its own: every initialiser is inherited.
public final class PlainSession: Session, @unchecked Sendable {}

public enum Sessions {
    public static let plain = PlainSession()
    public static let configured = PlainSession(
        configuration: .af.ephemeral, startRequestsImmediately: false, requestSetup: .eager,
        eventMonitors: [ClosureEventMonitor(queue: .global())])

    /// Everything that the designated initialiser takes.
    static func complete() -> Session {
        let queue = DispatchQueue(label: "com.example.root")
        let delegate = SessionDelegate(fileManager: .default)
        let operations = OperationQueue()
        operations.underlyingQueue = queue
        return Session(
            session: URLSession(configuration: .default, delegate: delegate, delegateQueue: operations),
            delegate: delegate, rootQueue: queue, startRequestsImmediately: true, requestSetup: .lazy,
            requestQueue: DispatchQueue(label: "com.example.request"),
            serializationQueue: DispatchQueue(label: "com.example.serialization"), interceptor: RetryPolicy(),
            serverTrustManager: ServerTrustManager(evaluators: [:]), redirectHandler: Redirector.follow,
            cachedResponseHandler: ResponseCacher.cache, eventMonitors: [AlamofireNotifications()])
    }

    static func facts(of session: Session) -> [String] {
        [
            session.rootQueue.label, session.requestQueue.label, session.serializationQueue.label,
            "\(session.startRequestsImmediately)", "\(session.session.configuration.timeoutIntervalForRequest)",
            "\(session.sessionConfiguration.allowsCellularAccess)", "\(session.delegate)",
            "\(session.interceptor == nil)", "\(session.redirectHandler == nil)",
        ]
    }
}
