// An authenticator whose credential is shared.

import Foundation
public import FoundationNetworking

/// Refreshes the credential of an ``AuthenticationInterceptor`` through a ``CredentialVault``.
///
/// All other methods call the wrapped authenticator.
public struct VaultAuthenticator<Base: Authenticator>: AsyncAuthenticator where Base.Credential: Codable {
    private let base: Base
    private let vault: CredentialVault<Base.Credential>

    init(_ base: Base, vault: CredentialVault<Base.Credential>) {
        self.base = base
        self.vault = vault
    }

    /// Puts the credential into a request, as the wrapped authenticator does.
    public func apply(_ credential: Base.Credential, to urlRequest: inout URLRequest) {
        base.apply(credential, to: &urlRequest)
    }

    /// Returns another process's new credential, or lets the wrapped authenticator renew the credential for all
    /// processes.
    public func refresh(_ credential: Base.Credential, for session: Session) async throws -> Base.Credential {
        try await vault.refreshed(credential) { current in
            try await withCheckedThrowingContinuation { continuation in
                base.refresh(current, for: session, completion: firstOnly { continuation.resume(with: $0) })
            }
        }
    }

    /// Returns the wrapped authenticator's answer.
    public func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool {
        base.didRequest(urlRequest, with: response, failDueToAuthenticationError: error)
    }

    /// Returns the wrapped authenticator's answer.
    public func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Base.Credential) -> Bool {
        base.isRequest(urlRequest, authenticatedWith: credential)
    }
}

extension CredentialVault {
    /// Wraps an authenticator, so that the credential is refreshed once for all processes that share the vault.
    public func authenticator<Base: Authenticator>(_ base: Base) -> VaultAuthenticator<Base>
    where Base.Credential == Credential {
        VaultAuthenticator(base, vault: self)
    }
}
