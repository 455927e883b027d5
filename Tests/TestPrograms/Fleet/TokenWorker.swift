// Requests with a shared token.

import Fireweed
import FireweedFleet
import Foundation
import FoundationNetworking

extension Fleet.Configuration {
    /// Tests run many processes on few cores; how long a command takes is not what they are about.
    ///
    /// With `FIREWEED_FLEET_SETTINGS=default` in the environment: the settings of a service of eight processes.
    static var probe: Fleet.Configuration {
        var configuration = Fleet.Configuration()
        if ProcessInfo.processInfo.environment["FIREWEED_FLEET_SETTINGS"] == "default" {
            configuration.fleetSize = 8
        } else {
            configuration.commandDeadline = .seconds(60)
        }
        return configuration
    }
}

/// A numbered token.
struct ProbeToken: AuthenticationCredential, Codable, Sendable {
    let number: Int
    var requiresRefresh: Bool { false }
}

/// Renews tokens at the origin, which counts them.
struct ProbeAuthenticator: AsyncAuthenticator {
    let origin: String
    let plain = Session(configuration: .af.ephemeral)

    func apply(_ credential: ProbeToken, to urlRequest: inout URLRequest) {
        urlRequest.headers.update(.authorization(bearerToken: "\(credential.number)"))
    }

    func refresh(_ credential: ProbeToken, for session: Session) async throws -> ProbeToken {
        let url = "\(origin)/refresh/\(credential.number)"
        let text = try await plain.request(url, method: .post).validate().serializingString().value
        guard let number = Int(text) else { throw URLError(.cannotParseResponse) }
        return ProbeToken(number: number)
    }

    func didRequest(
        _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
    ) -> Bool {
        response.statusCode == 401
    }

    func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: ProbeToken) -> Bool {
        urlRequest.headers["Authorization"] == "Bearer \(credential.number)"
    }
}

/// Sends requests with the token 1, which the origin does not accept any more.
struct TokenWorker {
    let store: String
    let origin: String
    let count: Int
    /// How long a worker that is killed while it renews holds the others up, in seconds.
    let lease: Int

    /// The exit status: 0 when all requests succeeded.
    func run() async throws -> Int32 {
        let key = Data(repeating: 7, count: 32)
        var options = CredentialVault<ProbeToken>.Options()
        options.lease = .seconds(lease)
        let vault =
            if store.contains("://") {
                try Fleet(url: store, configuration: .probe)
                    .credentialVault(of: ProbeToken.self, name: "probe", key: key, options: options)
            } else {
                try CredentialVault<ProbeToken>(
                    file: URL(fileURLWithPath: store), name: "probe", key: key, options: options)
            }
        let interceptor = AuthenticationInterceptor(
            authenticator: vault.authenticator(ProbeAuthenticator(origin: origin)), credential: ProbeToken(number: 1))
        let session = Session(configuration: .af.ephemeral, interceptor: interceptor)
        return await session.allSucceed(count, "\(origin)/work") ? 0 : 1
    }
}

/// Needs a new token so many times at once, and says who renewed it.
struct CredentialWorker {
    let url: String
    let process: String

    func run(count: Int) async throws {
        let vault = try Fleet(url: url, configuration: .probe)
            .credentialVault(of: ProbeToken.self, name: "demo", key: Data(repeating: 7, count: 32))
        let numbers = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<count {
                group.addTask {
                    try await vault.refreshed(ProbeToken(number: 1)) { token in
                        print("  process \(process) renews token \(token.number)")
                        return ProbeToken(number: token.number + 1)
                    }.number
                }
            }
            return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
        }
        print("  process \(process) uses token \(numbers.sorted().map(String.init).joined(separator: ", "))")
    }
}
