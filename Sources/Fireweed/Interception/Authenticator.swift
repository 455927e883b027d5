// What an application says about its credentials.

public import FoundationNetworking

/// A credential that requests are authenticated with, and that may have to be renewed: an OAuth token, a session key.
public protocol AuthenticationCredential {
    /// True when the credential should be renewed before it is used again; read for each request, so let it be cheap.
    ///
    /// Answering true a little ahead of the expiry saves a round of failed requests.
    var requiresRefresh: Bool { get }
}

/// Applies, checks and renews the credentials of an `AuthenticationInterceptor`.
///
/// Every method may be called from any thread, and several at once; no lock is held meanwhile.
public protocol Authenticator: Sendable {
    /// The kind of credential.
    associatedtype Credential: AuthenticationCredential & Sendable

    /// Puts the credential into a request, for instance as its `Authorization` field.
    func apply(_ credential: Credential, to urlRequest: inout URLRequest)

    /// Renews a credential and gives the new one, or why there is none, to `completion`; once, from anywhere.
    ///
    /// Called on the interceptor's own serial queue, once at a time. Requests wait until `completion` is called, so
    /// give the request for the new credential a time-out, and let a session without this interceptor send it.
    @preconcurrency
    func refresh(
        _ credential: Credential, for session: Session,
        completion: @escaping @Sendable (Result<Credential, any Error>) -> Void)

    /// True when the failure of a request is one of authentication: a 401 for most services.
    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool

    /// True when a request carries this very credential; false sends it again with the current one, without a refresh.
    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Credential) -> Bool
}

/// An authenticator that renews credentials in an `async` method.
public protocol AsyncAuthenticator: Authenticator {
    /// Gives a new credential in place of `credential`, or throws why there is none.
    func refresh(_ credential: Credential, for session: Session) async throws -> Credential
}

extension AsyncAuthenticator {
    /// Calls the `async` form in a task of its own.
    @preconcurrency
    public func refresh(
        _ credential: Credential, for session: Session,
        completion: @escaping @Sendable (Result<Credential, any Error>) -> Void
    ) {
        CompletionBridge.run(completion) { try await refresh(credential, for: session) }
    }
}
