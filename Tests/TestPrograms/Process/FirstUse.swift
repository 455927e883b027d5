// The first use of OpenSSL by a process, and how the process ends.

import COpenSSL
import Fireweed
import FireweedFleet
import FireweedTesting
import Foundation
import Glibc

/// The public types that parse certificates, hash or encrypt without a session.
enum FirstUse: String {
    case certificate, publicKey, pin, revocationList, serverTrust, clientIdentity, vault, vaultInFile, limits, fleet
    case fleetCache, mockServer, pinnedKeys

    /// Uses the type, then requests a URL over TLS, and leaves by `exit` when content flows.
    ///
    /// The exit status is 70 where OpenSSL has cleaned up before the process ended.
    func run(folder: String, authority: String, url: String) async throws {
        // Handlers run in reverse order: one that OpenSSL registers later has run by then.
        atexit { if OPENSSL_init_crypto(0, nil) == 0 { _exit(70) } }
        let used = try await use(URL(fileURLWithPath: folder), URL(fileURLWithPath: authority))
        var options = TransportOptions()
        options.certificateAuthorities = .file(URL(fileURLWithPath: authority))
        let session = Session(configuration: .af.ephemeral, transportOptions: options)
        for _ in 0..<4 {
            session.streamRequest(url).responseStream(on: .global()) { stream in
                if case .stream = stream.event { exit(0) }
                if case .complete(let completion) = stream.event, completion.error != nil { _exit(3) }
            }
        }
        // What keeps the process until `exit` above, and the backstop when no content comes.
        try await Task.sleep(for: .seconds(120))
        withExtendedLifetime(used) { exit(1) }
    }

    private func use(_ folder: URL, _ authority: URL) async throws -> (any Sendable)? {
        let key = Data(repeating: 7, count: 32)
        switch self {
        case .certificate: return try Certificate(contentsOf: authority)
        case .publicKey: return try? PublicKey(der: Data([0x30]))
        case .pin: return PublicKeyPin(of: try Certificate(contentsOf: authority).publicKey)
        case .pinnedKeys:
            let pin = try PublicKeyPin("sha256//" + Data(repeating: 7, count: 32).base64EncodedString())
            return PublicKeysTrustEvaluator(pins: [pin]).cachePartition
        case .serverTrust:
            let trust = ServerTrust(certificates: [try Certificate(contentsOf: authority)], host: "h.example")
            return (try? DefaultTrustEvaluator().evaluate(trust, forHost: "h.example")) == nil ? trust : nil
        case .clientIdentity:
            let identity = ClientIdentity(certificate: authority, privateKey: authority)
            try? identity.validate()
            return identity
        case .revocationList: return try? RevocationList(der: Data([0x30]))
        case .vault:
            let vault = CredentialVault<ProbeToken>.inProcess()
            try await vault.set(ProbeToken(number: 1))
            return vault
        case .vaultInFile:
            return try CredentialVault<ProbeToken>(file: folder.appending(path: "vault.sqlite"), name: "a", key: key)
        case .limits:
            let limits = try SQLiteRateLimits(file: folder.appending(path: "l.sqlite"), name: "a", fallback: .open)
            _ = try await limits.reserve("k", limit: RateLimit(1000, per: .seconds(1)), maximumWait: nil)
            return limits
        case .fleet:
            var options = CredentialVault<ProbeToken>.Options()
            options.whenUnreachable = .fail
            let fleet = try Fleet(url: "redis://127.0.0.1:1")
            let vault = try fleet.credentialVault(of: ProbeToken.self, name: "a", key: key, options: options)
            // The name of a script is the hash of its text.
            try? await vault.set(ProbeToken(number: 1))
            return vault
        case .fleetCache:
            return try FleetCache(fleet: Fleet(url: "redis://127.0.0.1:1"), keys: [key])
        case .mockServer: return try MockServer.start(certificate: .trusted)
        }
    }
}
