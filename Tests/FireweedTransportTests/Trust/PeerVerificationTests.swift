import COpenSSL
import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("The hook in the handshake")
struct PeerVerificationTests {
    @Test(
        "the verifier sees the chain as it was sent, and its word is the handshake's",
        arguments: [TLS1_2_VERSION, TLS1_3_VERSION], [true, false])
    func decides(version: Int32, accepts: Bool) throws {
        let chain = try #require(Gallery.shared["valid, disordered"]).chain
        let verifier = RecordingVerifier(accepts)
        let outcome = try Handshake(server: chain, version: version).run(verifier)
        #expect(verifier.seen == [try Certificate.all(inPEM: chain.map(\.pem).joined())])
        #expect(outcome.isConnected == accepts)
        #expect(outcome.verifyResult == (accepts ? X509_V_OK : X509_V_ERR_CERT_UNTRUSTED))
        #expect(ERR_peek_error() == 0, "what a verifier does leaves no trace in the error queue")
    }

    @Test("the verifier can ask the authorities inside the handshake", arguments: ["valid", "expired", "self-signed"])
    func evaluates(exhibit: String) throws {
        let gallery = try Gallery.shared
        let root = try Certificate(pem: gallery.root.pem)
        let verifier = RecordingVerifier { chain in
            let trust = ServerTrust(certificates: chain, host: "localhost", authorities: .certificates([root]))
            return (try? trust.evaluateChain()) != nil
        }
        let outcome = try Handshake(server: try #require(gallery[exhibit]).chain, version: TLS1_3_VERSION).run(verifier)
        #expect(outcome.isConnected == (exhibit == "valid"))
    }

    @Test("an identity is shown to a server that asks for it")
    func clientIdentity() throws {
        let gallery = try Gallery.shared
        let client = try gallery.foundry.issue("Client", ["extendedKeyUsage=clientAuth"], by: gallery.intermediate)
        let chain = try TemporaryFolder()
        let file = chain.file("chain.pem")
        try (client.pem + gallery.intermediate.pem).write(to: file, atomically: true, encoding: .utf8)
        let identity = ClientIdentity(certificate: file, privateKey: client.key)
        let server = RecordingVerifier(true)
        let handshake = try Handshake(server: [gallery.server], version: TLS1_2_VERSION)
        let outcome = try handshake.run(RecordingVerifier(true), identity: identity, serverSide: server)
        #expect(outcome.isConnected)
        #expect(server.seen == [try identity.certificates])
    }
}

/// Keeps what it was asked.
final class RecordingVerifier: PeerVerifier {
    private(set) var seen: [[Certificate]] = []
    private let decide: ([Certificate]) -> Bool

    init(_ decide: @escaping ([Certificate]) -> Bool) {
        self.decide = decide
    }

    convenience init(_ answer: Bool) {
        self.init { _ in answer }
    }

    func judge(_ evidence: PeerEvidence) -> PeerVerdict {
        seen.append(evidence.chain)
        return decide(evidence.chain) ? .accepted : .refused
    }

    func accepts(status: Data?, isResumed: Bool) -> Bool { false }
}

/// A client and a server of OpenSSL's in this process, joined in memory.
struct Handshake {
    struct Outcome {
        let isConnected: Bool
        let verifyResult: Int32
    }

    private struct Failure: Error {
        let text: String
    }

    private let chain: [CertificateFoundry.Issued]
    private let version: Int32

    init(server chain: [CertificateFoundry.Issued], version: Int32) throws {
        self.chain = chain
        self.version = version
    }

    func run(
        _ verifier: RecordingVerifier, identity: ClientIdentity? = nil, serverSide: RecordingVerifier? = nil
    ) throws -> Outcome {
        let clientContext = try context(TLS_client_method())
        let serverContext = try context(TLS_server_method())
        defer {
            SSL_CTX_free(clientContext)
            SSL_CTX_free(serverContext)
        }
        PeerVerification.install(verifier, on: UnsafeMutableRawPointer(clientContext))
        if let serverSide { PeerVerification.install(serverSide, on: UnsafeMutableRawPointer(serverContext)) }
        if let identity { try LoadedIdentity(identity).install(on: clientContext) }
        try LoadedIdentity(try serverIdentity()).install(on: serverContext)
        let client = try connection(clientContext)
        let server = try connection(serverContext)
        defer {
            SSL_free(client)
            SSL_free(server)
        }
        try join(client, server)
        SSL_set_connect_state(client)
        SSL_set_accept_state(server)
        return shake(client, server)
    }

    /// A handshake has a handful of flights; one that has not ended after these never will.
    private func shake(_ client: OpaquePointer, _ server: OpaquePointer) -> Outcome {
        var isConnected = false
        for _ in 0..<16 where !isConnected {
            let ours = SSL_do_handshake(client)
            if ours != 1, SSL_get_error(client, ours) == SSL_ERROR_SSL { break }
            let theirs = SSL_do_handshake(server)
            isConnected = ours == 1 && theirs == 1
        }
        if !isConnected { ERR_clear_error() }
        return Outcome(isConnected: isConnected, verifyResult: Int32(SSL_get_verify_result(client)))
    }

    private func context(_ method: OpaquePointer?) throws -> OpaquePointer {
        OpenSSLLibrary.initialise()
        guard let context = SSL_CTX_new(method), fw_ssl_ctx_set_maximum_version(context, version) == 1 else {
            throw Failure(text: "no SSL_CTX")
        }
        return context
    }

    private func connection(_ context: OpaquePointer) throws -> OpaquePointer {
        guard let connection = SSL_new(context) else { throw Failure(text: "no SSL") }
        return connection
    }

    private func serverIdentity() throws -> ClientIdentity {
        guard let leaf = chain.first else { throw Failure(text: "no chain") }
        let file = leaf.certificate.deletingPathExtension().appendingPathExtension("\(UUID()).chain")
        try chain.map(\.pem).joined().write(to: file, atomically: true, encoding: .utf8)
        return ClientIdentity(certificate: file, privateKey: leaf.key)
    }

    /// Each connection owns its end.
    private func join(_ client: OpaquePointer, _ server: OpaquePointer) throws {
        var (near, far): (OpaquePointer?, OpaquePointer?)
        guard BIO_new_bio_pair(&near, 1 << 16, &far, 1 << 16) == 1 else { throw Failure(text: "no BIO pair") }
        SSL_set_bio(client, near, near)
        SSL_set_bio(server, far, far)
    }
}
