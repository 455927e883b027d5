// Decisions of a subclass of `SessionDelegate` for tasks.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// Asks the delegate about redirects; ``SessionDelegate``'s own method asks the handler of the request or the session.
struct DelegateRedirectHandler: RedirectHandler {
    let core: SessionCore
    /// The handler of the request or the session.
    let handler: (any RedirectHandler)?

    var maximumRedirectCount: Int? { handler?.maximumRedirectCount }
    var credentialFieldNames: [String]? { handler?.credentialFieldNames }

    func task(
        _ task: URLSessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    ) {
        core.arguments.delegate.urlSession(
            core.urlSession, task: task, willPerformHTTPRedirection: response, newRequest: request,
            completionHandler: completion)
    }
}

/// Asks the delegate which response is stored; ``SessionDelegate``'s own method asks the handler of the request or the
/// session.
struct DelegateStoringHandler: CachedResponseHandler {
    let core: SessionCore

    func dataTask(
        _ task: URLSessionDataTask, willCacheResponse response: CachedURLResponse,
        completion: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        core.arguments.delegate.urlSession(
            core.urlSession, dataTask: task, willCacheResponse: response, completionHandler: completion)
    }
}

extension Request {
    /// Asks the delegate about the head of a response.
    ///
    /// When the delegate allows the response, the request's own handlers are asked. Returns `nil` when the session's
    /// delegate is not a subclass.
    func delegateDecision(about head: ResponseHead, of attempt: Attempt) -> HeadDisposition? {
        guard core.arguments.delegate.isSubclass, let task = attempt.sessionTask as? URLSessionDataTask,
            let response = attempt.httpURLResponse
        else { return nil }
        let decide = firstOnly { [self] (disposition: URLSession.ResponseDisposition) in
            guard disposition != .cancel else { return attempt.cancelTask() }
            // With `.wait`, the receiver decides later: it allows the content, or cancels the attempt.
            if case .wait = parts.receiver.receive(head, of: attempt, for: self) { return }
            attempt.allow()
        }
        core.arguments.rootQueue.async { [core] in
            core.arguments.delegate.urlSession(
                core.urlSession, dataTask: task, didReceive: response, completionHandler: decide)
        }
        return .wait
    }

    /// Asks the delegate for a stream of content.
    func askDelegateForStream(for attempt: Attempt, completion: @escaping @Sendable (SendableInputStream?) -> Void) {
        core.arguments.rootQueue.async { [core] in
            core.arguments.delegate.urlSession(core.urlSession, task: attempt.sessionTask) { stream in
                completion(stream.map { SendableInputStream($0) })
            }
        }
    }
}

extension Attempt {
    func delegateAnswer(to head: ResponseHead, of message: OutgoingMessage) -> DelegateQuestion? {
        guard core.arguments.delegate.isSubclass, kind != .webSocket, let response = httpURLResponse else { return nil }
        let challenge = HTTPChallenge.all(in: head).first ?? HTTPChallenge(scheme: "")
        let refusals = message.refusedCredentials.count + (message.credentials == nil ? 0 : 1)
        return { [self] completion in
            core.arguments.rootQueue.async { [self] in
                let shown = challenge.shown(
                    host: message.url.host ?? "", port: message.url.effectivePort, scheme: message.url.scheme ?? "http",
                    response: response, failureCount: refusals)
                core.arguments.delegate.urlSession(core.urlSession, task: sessionTask, didReceive: shown) {
                    completion(ChallengeAnswer(disposition: $0, credential: $1))
                }
            }
        }
    }
}
