// The run of one operation.

import Fireweed
import Foundation

/// Runs an operation: makes the request, meddles with the request, and waits until every callback has come.
struct OperationRun: Sendable {
    let operation: Operation
    let record: OperationRecord
    let slot: SessionSlot
    let addresses: ServerAddresses
    let remains: Remains
    /// The folder for files of the operation.
    let folder: URL
    /// Identifies the operation at the servers.
    let key: String
    /// Identifies the session at the servers, for the tokens that they accept.
    let tokenKey: String
    let task = TaskSwitch()
    /// The queue of the callbacks.
    let queue = DispatchQueue.global()

    func run() async {
        try? await Task.sleep(for: .microseconds(operation.start))
        record.note("begins")
        switch operation.kind {
        case .data: await runData()
        case .upload(let content): await runUpload(content)
        case .stream: await runStream()
        case .events: await runEvents()
        case .download(let place): await runDownload(place)
        case .webSocket: await runWebSocket()
        }
        await record.waitForCallbacks()
        record.ended()
    }

    /// Makes a request with the current session of the slot.
    func make<Made: Request>(_ make: (Session) -> Made) -> Made {
        let request = slot.use(make)
        record.made(request.id)
        remains.watch(request, "request of operation \(operation.number)")
        return request
    }

    /// The URL of the target, with the endpoint for the operation's kind.
    var url: String {
        let endpoint =
            switch operation.kind {
            case .data, .stream, .download: "/content"
            case .upload: "/upload"
            case .events: "/events"
            case .webSocket: "/socket"
            }
        let url = addresses.url(of: operation.target, on: slot.plan.route, key: key, endpoint: endpoint)
        return operation.usesTokens ? "\(url)&tokens=\(tokenKey)" : url
    }

    /// Sets the idle time-out; for a foreign target, also adds an API key, which the other origin must not get.
    var modifier: Session.RequestModifier? {
        { [operation] request in
            if let milliseconds = operation.idleTimeoutMilliseconds {
                request.timeoutInterval = Double(milliseconds) / 1_000
            }
            if operation.target.isForeign { request.headers.add(name: "X-Api-Key", value: "secret") }
        }
    }

    /// Whether the request may have several attempts.
    var mayRetry: Bool {
        operation.usesTokens || [operation.interception, slot.plan.interception].contains { ($0?.retryLimit ?? 0) > 0 }
    }

    var interceptor: (any RequestInterceptor)? {
        operation.usesTokens ? slot.authentication : operation.interception.map { PlannedInterceptor(plan: $0) }
    }

    /// Sets the deadline, the credentials and the meddler's callbacks, for operations of every kind; then starts the
    /// meddler's timers, which may resume the request.
    ///
    /// A stream or a WebSocket does not repeat its events for later listeners, so listeners are added before this call.
    func prepare(_ request: Request, _ meddler: Meddler) {
        if let milliseconds = operation.deadlineMilliseconds { request.deadline(.milliseconds(milliseconds)) }
        if operation.isAuthenticated {
            request.authenticate(username: "user", password: "secret", persistence: .none)
        }
        if meddler.awaits(.urlRequest) {
            request.onURLRequestCreation(on: queue) { [weak request] _ in meddler.reached(.urlRequest, request) }
        }
        if meddler.awaits(.task) {
            request.onURLSessionTaskCreation(on: queue) { [weak request] _ in meddler.reached(.task, request) }
        }
        if meddler.awaits(.progress) {
            request.downloadProgress(queue: queue) { [weak request] _ in meddler.reached(.progress, request) }
            request.uploadProgress(queue: queue) { [weak request] _ in meddler.reached(.progress, request) }
        }
        meddler.arm(request)
    }

    /// Starts the request if its session does not start requests automatically.
    func begin(_ request: Request) {
        if !slot.plan.startsImmediately { request.resume() }
    }

    /// Allows or cancels a response as planned when its head has arrived; called on `queue`.
    func decide(
        _ meddler: Meddler, _ request: Request?, _ completion: @escaping @Sendable (Request.ResponseDisposition) -> Void
    ) {
        record.note("head")
        meddler.reached(.head, request)
        guard let decision = operation.headDecision else { return completion(.allow) }
        decision.answering.answer { completion(decision.allows ? .allow : .cancel) }
    }
}
