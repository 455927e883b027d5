// Declarations for every sample of the documentation: the values of a program around it.

package import FireweedFleet
package import FireweedTesting
package import Foundation
package import Synchronization

package let session = Session()
package let url = URL(string: "https://example.com/get") ?? URL(filePath: "/")
package let file = URL(filePath: "/tmp/fireweed-sample.json")
package let folder = FileManager.default.temporaryDirectory.appending(path: "fireweed-samples")
package let storeURL = folder.appending(path: "hosts.json")
package let fileURL = folder.appending(path: "report.txt")
package let passphrase = "secret"
package let token = "token"
/// The key of a credential vault.
package let key = Data(repeating: 7, count: 32)
package let api = "https://api.example.com"
package let data = Data("hello".utf8)
package let request = session.request(url)
package let interceptor = Interceptor()
package let keys: [PublicKey] = []
package let fleet: Fleet = {
    do {
        return try Fleet(url: "redis://127.0.0.1:6379")
    } catch {
        fail("The fleet cannot be made: \(error)")
    }
}()
package let field = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
package let state: String? = nil
package let stored: Token? = nil
package let authenticator = OAuthAuthenticator()
/// Somebody else's certificate; only for samples that do not run.
package var other: Certificate { fail("There is no certificate.") }

package struct User: Codable, Sendable, Equatable {
    package var id: Int
    package var name: String

    package init(id: Int, name: String) {
        self.id = id
        self.name = name
    }
}

package struct NotOurs: Error {
    package init() {}
}

package struct Token: AuthenticationCredential, Codable, Sendable, Equatable {
    package var accessToken = "token"
    package var refreshToken = "refresh"
    package var expiry = Date.distantFuture

    package init(accessToken: String = "token", refreshToken: String = "refresh", expiry: Date = .distantFuture) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.expiry = expiry
    }

    package init(_ accessToken: String) {
        self.init(accessToken: accessToken)
    }

    package var requiresRefresh: Bool { expiry.timeIntervalSinceNow < 60 }
}

package struct OAuthAuthenticator: AsyncAuthenticator {
    package init() {}

    package func apply(_ credential: Token, to urlRequest: inout URLRequest) {
        urlRequest.headers.add(.authorization(bearerToken: credential.accessToken))
    }

    package func refresh(_ credential: Token, for session: Session) async throws -> Token { Token("new") }

    package func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool { response.statusCode == 401 }

    package func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool {
        urlRequest.headers["Authorization"] == "Bearer \(credential.accessToken)"
    }
}

/// A client as an application has one.
package struct Client: Sendable {
    package let session: Session

    package init(_ session: Session = .default) {
        self.session = session
    }

    package func user(_ id: Int) async throws -> User {
        try await session.request("\(api)/users/\(id)").validate().serializingDecodable(User.self).value
    }

    package func users() async throws -> [User] {
        try await session.request("\(api)/users").validate().serializingDecodable([User].self).value
    }

    package func create(_ user: User) async throws {
        _ = try await session.request("\(api)/users", method: .post, parameters: user, encoder: .json)
            .validate().serializingData(emptyResponseCodes: [201]).value
    }
}

package func use(_ values: Any?...) {}
package func fail(_ message: String) -> Never { fatalError(message) }

/// What samples have printed, for their comments `// prints …`.
package let printed = Mutex<[String]>([])

package func print(_ items: Any..., separator: String = " ", terminator: String = "\n") {
    let line = items.map { "\($0)" }.joined(separator: separator)
    printed.withLock { $0.append(line) }
}
