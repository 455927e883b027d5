// Credentials given to the command.

import CommandLanguage
import Fireweed
import Foundation

/// Credentials, and the scheme to authenticate with.
struct Authentication: Equatable {
    let type: Invocation.AuthenticationType
    /// `USER:PASSWORD`, or a token for bearer; empty for negotiate.
    let secret: String
    /// Whether credentials are sent only after a challenge, which chooses the scheme (`--anyauth`).
    var waitsForChallenge = false

    init(type: Invocation.AuthenticationType, secret: String, waitsForChallenge: Bool = false) {
        self.type = type
        self.secret = secret
        self.waitsForChallenge = waitsForChallenge
    }

    /// The credentials of the command line or its URL; `nil` without any.
    ///
    /// `askForPassword` is called with the user when the password is missing; throws `UsageError` if it returns `nil`.
    init?(_ invocation: Invocation, askForPassword: (String) -> String?) throws {
        let type = invocation.authenticationType ?? .basic
        let waits = invocation.curl?.waitsForChallenge ?? false
        switch (type, try invocation.authentication ?? invocation.credentialsOfURL()) {
        case (.negotiate, _): self.init(type: .negotiate, secret: "")
        case (_, nil): return nil
        case (.bearer, let token?): self.init(type: .bearer, secret: token)
        case (_, let secret?) where secret.contains(":"):
            self.init(type: type, secret: secret, waitsForChallenge: waits)
        case (_, let user?):
            guard let password = askForPassword(user) else {
                let option = invocation.curl == nil ? "--auth" : "-u"
                throw UsageError(message: "\(option) needs USER:PASSWORD when no password is entered")
            }
            self.init(type: type, secret: "\(user):\(password)", waitsForChallenge: waits)
        }
    }

    /// Puts the credentials on a request, only for the origin of its URL.
    func apply(to request: Request) {
        let parts = secret.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let credential = URLCredential(
            user: parts.first ?? "", password: parts.count > 1 ? parts[1] : "", persistence: .none)
        if waitsForChallenge {
            request.authenticate(with: credential)
            return
        }
        switch type {
        case .basic: request.authenticate(with: credential, schemes: .basic)
        case .digest: request.authenticate(with: credential, schemes: .digest)
        case .ntlm: request.authenticate(with: credential, schemes: .ntlm)
        case .negotiate: request.authenticate(with: credential, schemes: .negotiate)
        case .bearer: break  // a field of the request
        }
    }

    /// Adds the `Authorization` field of a bearer token, unless the user gave that field.
    func addField(to headers: inout HTTPHeaders) {
        guard type == .bearer, headers["Authorization"] == nil else { return }
        headers.add(.authorization(bearerToken: secret))
    }
}

extension Invocation {
    /// Returns user and password of the URL; with `--netrc`, a missing password is taken from the netrc file.
    ///
    /// Throws `UsageError` for a file that cannot be parsed.
    fileprivate func credentialsOfURL() throws -> String? {
        guard usesNetrc, let userInfo, userInfo.hasSuffix(":"), let host = parsedURL?.host else { return userInfo }
        return try CURLNetrc().credentials(forHost: host, user: String(userInfo.dropLast())) ?? userInfo
    }
}
