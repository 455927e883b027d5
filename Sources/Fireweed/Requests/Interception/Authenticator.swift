// An application's rules for its credentials.

public import FoundationNetworking

/// A credential that authenticates requests and may have to be renewed, such as an OAuth token.
public protocol AuthenticationCredential {
    /// Whether the credential must be renewed before it is used again.
    ///
    /// Read for each request, so the getter must be cheap. Return true shortly before the expiry: this saves requests
    /// that would fail.
    var requiresRefresh: Bool { get }
}

/// Applies, checks and renews the credentials of an ``AuthenticationInterceptor``.
///
/// Every method may be called from any thread, and on several threads at once; no lock is held during a call.
public protocol Authenticator: Sendable {
    /// The kind of credential.
    associatedtype Credential: AuthenticationCredential & Sendable

    /// Adds the credential to a request, for instance as its `Authorization` field.
    ///
    /// - Parameters:
    ///   - credential: the current credential.
    ///   - urlRequest: the request that is about to be sent.
    func apply(_ credential: Credential, to urlRequest: inout URLRequest)

    /// Renews a credential.
    ///
    /// Called on the interceptor's serial queue; at most one refresh runs at a time. Requests wait until `completion`
    /// is called. So set a time-out for the request that gets the new credential, and send that request with a session
    /// that does not have this interceptor.
    ///
    /// - Parameters:
    ///   - credential: the credential that has expired or was refused.
    ///   - session: the session whose request needs the credential.
    ///   - completion: takes the new credential, or the error with which every waiting request ends. Call it once, on
    ///     any thread.
    @preconcurrency
    func refresh(
        _ credential: Credential, for session: Session,
        completion: @escaping @Sendable (Result<Credential, any Error>) -> Void)

    /// Whether a request failed because its credential was refused: status 401 with most services.
    ///
    /// - Parameters:
    ///   - urlRequest: the message that was sent.
    ///   - response: its response.
    ///   - error: the error of the request.
    /// - Returns: true when the request is to be retried with a valid credential.
    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool

    /// Whether a request carries a given credential.
    ///
    /// - Parameters:
    ///   - urlRequest: a message that failed authentication.
    ///   - credential: the current credential.
    /// - Returns: true when the current credential was refused, and must be renewed. False when the request had an
    ///   older credential: the request is retried with the current credential, without a refresh.
    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Credential) -> Bool
}

/// An authenticator that renews credentials in an `async` method.
public protocol AsyncAuthenticator: Authenticator {
    /// Renews a credential.
    ///
    /// - Parameters:
    ///   - credential: the credential that has expired or was refused.
    ///   - session: the session whose request needs the credential.
    /// - Returns: the new credential.
    /// - Throws: an error, with which every waiting request ends; an ``AFError`` of adapting or retrying contains it.
    func refresh(_ credential: Credential, for session: Session) async throws -> Credential
}

extension AsyncAuthenticator {
    /// Calls the `async` method in its own task.
    @preconcurrency
    public func refresh(
        _ credential: Credential, for session: Session,
        completion: @escaping @Sendable (Result<Credential, any Error>) -> Void
    ) {
        CompletionBridge.run(completion) { try await refresh(credential, for: session) }
    }
}
