// A credential for many requests, which is renewed once for all of them.

public import Foundation
public import FoundationNetworking
import Synchronization

/// Applies a credential to every request, and renews it once for any number of requests.
///
/// Adapting: while a refresh runs, requests wait for the refresh. Without a credential, requests fail with
/// `AuthenticationError.missingCredential`. A credential whose `requiresRefresh` is true is refreshed first. Otherwise
/// the credential is applied immediately.
///
/// Retrying: when the authenticator says that a request failed authentication, a refresh begins, or the request waits
/// for the refresh that runs. A request that carried an older credential is retried without a refresh. When a refresh
/// fails, every request that waits for the refresh fails with the refresh's error. Later retries fail with the same
/// error until another request is adapted or a credential is set.
///
/// ```swift
/// let interceptor = AuthenticationInterceptor(authenticator: OAuthAuthenticator(), credential: stored)
/// let session = Session(interceptor: interceptor)
/// ```
public final class AuthenticationInterceptor<AuthenticatorType: Authenticator>: RequestInterceptor {
    /// The kind of credential.
    public typealias Credential = AuthenticatorType.Credential

    /// Limits the number of refreshes within a span of time.
    ///
    /// Without a window, a request to a service that refuses every new credential is retried for ever.
    public struct RefreshWindow: Sendable {
        /// The span, in seconds; 30 by default.
        public let interval: TimeInterval
        /// How many refreshes may begin within the span; 5 by default, and zero allows none.
        public let maximumAttempts: Int

        /// Makes a window.
        ///
        /// - Parameters:
        ///   - interval: the length of the window, in seconds; 30 by default.
        ///   - maximumAttempts: how many refreshes one window may have; 5 by default. One more fails with
        ///     ``AuthenticationError/excessiveRefresh``.
        public init(interval: TimeInterval = 30.0, maximumAttempts: Int = 5) {
            self.interval = interval
            self.maximumAttempts = maximumAttempts
        }
    }

    private typealias Retry = @Sendable (RetryResult) -> Void
    private typealias State = RefreshState<Credential, PendingAdapt, Retry>

    private struct PendingAdapt: Sendable {
        let urlRequest: URLRequest
        let session: Session
        let completion: @Sendable (Result<URLRequest, any Error>) -> Void
        /// How many refreshes the request has waited for.
        var refreshCount = 0

        /// The same request after one more refresh.
        var afterRefresh: PendingAdapt {
            var next = self
            next.refreshCount += 1
            return next
        }
    }

    private let authenticator: AuthenticatorType
    private let state: Mutex<State>
    /// Refreshes begin on this queue and not on a request's thread: a refresh that ends synchronously and must be
    /// repeated would otherwise recurse.
    private let queue = DispatchQueue(label: "fireweed.authentication")

    /// The credential in use; `nil` when there is none.
    ///
    /// It may be set at any time. The result of a refresh that is running is then ignored: the requests that wait for
    /// that refresh continue with the credential that was set.
    public var credential: Credential? {
        get { state.withLock { $0.held.credential } }
        set { state.withLock { $0.set(newValue) } }
    }

    /// Makes an interceptor.
    ///
    /// - Parameters:
    ///   - authenticator: applies, checks and renews credentials.
    ///   - credential: the first credential; with `nil`, requests fail until a credential is set.
    ///   - refreshWindow: limits how often credentials are renewed; `nil` sets no such limit. A request then fails with
    ///     ``AuthenticationError/excessiveRefresh`` after 100 refreshes in a row that gave it no usable credential.
    public init(
        authenticator: AuthenticatorType, credential: Credential? = nil,
        refreshWindow: RefreshWindow? = RefreshWindow()
    ) {
        self.authenticator = authenticator
        let limit = refreshWindow.map {
            RefreshHistory.Limit(interval: $0.interval, maximumAttempts: $0.maximumAttempts)
        }
        state = Mutex(State(credential: credential, limit: limit))
    }

    // MARK: Adapting

    /// Applies the credential, after a refresh if the credential requires one.
    ///
    /// Fails with ``AuthenticationError``, or with the error of the refresh.
    @preconcurrency
    public func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        adapt(PendingAdapt(urlRequest: urlRequest, session: session, completion: completion))
    }

    private func adapt(_ pending: PendingAdapt) {
        switch answer(to: pending) {
        case .apply(let credential):
            var request = pending.urlRequest
            authenticator.apply(credential, to: &request)
            pending.completion(.success(request))
        case .begin(let refresh): begin(refresh, for: pending.session)
        case .fail(let error): pending.completion(.failure(error))
        case .wait, .lookAgain: break
        }
    }

    /// Reads `requiresRefresh`, which is user code, outside the lock; reads it again if the credential was replaced
    /// during the read.
    private func answer(to pending: PendingAdapt) -> State.AdaptAnswer {
        while true {
            let held = state.withLock { $0.held }
            let requiresRefresh = held.credential?.requiresRefresh ?? false
            let answer = state.withLock {
                $0.adapt(
                    pending, requiresRefresh: requiresRefresh, version: held.version,
                    refreshCount: pending.refreshCount, now: Self.now(of: pending.session))
            }
            if case .lookAgain = answer { continue }
            return answer
        }
    }

    // MARK: Retrying

    /// Retries a request that failed authentication, after a refresh if it carried the current credential.
    ///
    /// Fails with ``AuthenticationError``, or with the error of the refresh. Does not retry other failures, nor an
    /// ``AuthenticationError``: the request then ends with that error.
    @preconcurrency
    public func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        guard !AuthenticationError.isCause(of: error), let urlRequest = request.request,
            let response = request.response,
            authenticator.didRequest(urlRequest, with: response, failDueToAuthenticationError: error)
        else { return completion(.doNotRetry) }
        let held = state.withLock { $0.held }
        guard let credential = held.credential else {
            return completion(.doNotRetryWithError(AuthenticationError.missingCredential))
        }
        guard authenticator.isRequest(urlRequest, authenticatedWith: credential) else { return completion(.retry) }
        switch state.withLock({ $0.retry(completion, version: held.version, now: Self.now(of: session)) }) {
        case .retry: completion(.retry)
        case .wait: break
        case .begin(let refresh): begin(refresh, for: session)
        case .fail(let error): completion(.doNotRetryWithError(error))
        }
    }

    // MARK: Refreshing

    private func begin(_ refresh: State.Refresh, for session: Session) {
        queue.async { [self] in
            authenticator.refresh(refresh.credential, for: session) { [self] result in
                end(refresh.number, result)
            }
        }
    }

    private func end(_ number: Int, _ result: Result<Credential, any Error>) {
        guard let ending = state.withLock({ $0.end(number, result) }) else { return }
        if let error = ending.error {
            for pending in ending.adapts { pending.completion(.failure(error)) }
            for completion in ending.retries { completion(.doNotRetryWithError(error)) }
        } else {
            for pending in ending.adapts { adapt(pending.afterRefresh) }
            for completion in ending.retries { completion(.retry) }
        }
    }

    /// The session's monotonic time, in seconds.
    private static func now(of session: Session) -> TimeInterval {
        TimeInterval(session.clock.monotonicNanoseconds) / 1e9
    }
}
