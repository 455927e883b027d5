import Foundation
import Testing

/// The places that use OpenSSL, and what reaches each of them without a session.
@Suite("First uses of OpenSSL")
struct FirstUseTableTests {
    /// The first uses that ``ProcessExitTests`` plays: rows of `FirstUse` in the programs for tests.
    static let types = [
        "certificate", "publicKey", "pin", "pinnedKeys", "revocationList", "serverTrust", "clientIdentity", "vault",
        "vaultInFile", "limits", "fleet", "fleetCache", "mockServer",
    ]

    /// The files that call OpenSSL, or something of ours that hashes or encrypts by it, and a first use that comes
    /// there; "session" for those that only a session uses, which is a use of its own.
    private static let places = [
        "Fireweed/Policies/Credentials/CredentialVault.swift": "vault",
        "Fireweed/Policies/SQLite/SQLiteRateLimits.swift": "limits",
        "Fireweed/Storage/Cache/CacheKey.swift": "session",
        "Fireweed/Storage/Cache/ResponseVariant.swift": "session",
        "Fireweed/Requests/Download/ResumeData+Secrets.swift": "session",
        "Fireweed/Trust/CachePartition.swift": "pinnedKeys",
        "Fireweed/Trust/RevocationTrustEvaluator.swift": "session",
        "FireweedFleet/Cache/FleetCache.swift": "fleetCache",
        "FireweedFleet/Cache/FleetEntry.swift": "session",
        "FireweedFleet/Cache/FleetSeal.swift": "session",
        "FireweedFleet/Fleet.swift": "fleet",
        "FireweedFleet/RESP/RESPScript.swift": "fleet",
        "FireweedTesting/Server/CertificateStatus.swift": "mockServer",
        "FireweedTesting/Server/GeneratedCertificate.swift": "mockServer",
        "FireweedTesting/Server/MockCertificate.swift": "mockServer",
        "FireweedTesting/Server/SecureStream.swift": "mockServer",
        "FireweedTransport/Authentication/Hash.swift": "vault",
        "FireweedTransport/Authentication/NTLMMessages.swift": "session",
        "FireweedTransport/TLS/HTTP2Security.swift": "session",
        "FireweedTransport/TLS/KeyLog.swift": "session",
        "FireweedTransport/TLS/RecordBIO.swift": "session",
        "FireweedTransport/TLS/TLSAlert.swift": "session",
        "FireweedTransport/TLS/TLSClient.swift": "session",
        "FireweedTransport/TLS/TLSFailure.swift": "session",
        "FireweedTransport/TLS/TLSHandshake.swift": "session",
        "FireweedTransport/TLS/TLSSessionStore.swift": "session",
        "FireweedTransport/TLS/TLSStream.swift": "session",
        "FireweedTransport/Trust/AuthorityStore.swift": "serverTrust",
        "FireweedTransport/Trust/Certificate.swift": "certificate",
        "FireweedTransport/Trust/ChainVerification.swift": "serverTrust",
        "FireweedTransport/Trust/ClientIdentity+Content.swift": "session",
        "FireweedTransport/Trust/LoadedIdentity.swift": "clientIdentity",
        "FireweedTransport/Trust/OpenSSLError.swift": "clientIdentity",
        "FireweedTransport/Trust/OpenSSLLibrary.swift": "serverTrust",
        "FireweedTransport/Trust/ParsedCertificate.swift": "certificate",
        "FireweedTransport/Trust/PeerEvidence.swift": "session",
        "FireweedTransport/Trust/PublicKey.swift": "publicKey",
        "FireweedTransport/Trust/RevocationInquiry.swift": "session",
        "FireweedTransport/Trust/RevocationList.swift": "revocationList",
        "FireweedTransport/Trust/SHA1.swift": "fleet",
        "FireweedTransport/Trust/SealedData.swift": "vault",
        "FireweedTransport/Trust/SealingKeys.swift": "vault",
        "FireweedTransport/Trust/SubjectAlternativeName.swift": "certificate",
        "FireweedTransport/Trust/VerificationCode.swift": "serverTrust",
        "FireweedTransport/WebSocket/WebSocketKey.swift": "session",
    ]

    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../../Sources").standardizedFileURL

    /// The files of the products that use OpenSSL.
    private func users() throws -> Set<String> {
        let use = /import COpenSSL|\b(Hash|SHA1|Digest)\.[a-z]|\b(SealedData|SealingKeys)\b/
        var found: Set<String> = []
        for product in ["Alamofire", "Fireweed", "FireweedFleet", "FireweedTesting", "FireweedTransport"] {
            let folder = Self.sources.appendingPathComponent(product)
            for case let path as String in FileManager.default.enumerator(atPath: folder.path) ?? .init()
            where path.hasSuffix(".swift") {
                let text = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
                let isUser = text.split(separator: "\n").contains { line in
                    !line.trimmingPrefix(while: \.isWhitespace).hasPrefix("//") && line.contains(use)
                }
                if isUser { found.insert("\(product)/\(path)") }
            }
        }
        return found
    }

    @Test("each file that uses OpenSSL is reached by a first use that is played, or by sessions alone")
    func places() throws {
        #expect(try users() == Set(Self.places.keys))
        #expect(Set(Self.places.values).isSubset(of: Self.types + ["session"]))
    }

    @Test("each first use that the program has is played")
    func program() throws {
        let file = Self.sources.appendingPathComponent("../Tests/TestPrograms/Process/FirstUse.swift")
        let text = try String(contentsOf: file, encoding: .utf8)
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("    case ") }
        let names = rows.flatMap { $0.dropFirst(9).split(separator: ", ").map(String.init) }
        #expect(names.count > 8 && Set(names) == Set(Self.types))
    }
}
