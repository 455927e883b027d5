// The shared state of a transport's TLS connections.

import COpenSSL
import Foundation

/// Makes TLS connections with the settings of a transport, on one loop's thread.
final class TLSClient {
    let settings: PoolSettings
    let sessions = TLSSessionStore()
    private let keyLog: KeyLog?
    /// The owner of the `SSL_CTX`; created for the first connection.
    private lazy var context = Result { () throws(TransferFailure) in try TLSClientContext(settings.options, keyLog) }

    init(_ settings: PoolSettings) {
        self.settings = settings
        keyLog = settings.options.keyLogFile.flatMap { KeyLog($0) }
    }

    /// Makes a stream over a connected channel; its handshake has not begun.
    func makeStream(
        to peer: TLSPeer, showing identity: LoadedIdentity?, over lower: ByteChannel, in loop: LoopContext
    ) throws(TransferFailure) -> TLSStream {
        let key = TLSSessionStore.Key(
            host: peer.host, port: peer.port, isProxy: peer.isProxy, identity: identity?.identity,
            authorities: peer.rule.authorities.fileVersion, offer: peer.offer)
        ERR_clear_error()
        guard let ssl = SSL_new(try context.get().pointer) else { throw Self.failure() }
        let made = TLSStream(
            ssl, over: lower, resumption: TLSResumption(key, in: sessions),
            framingLimit: settings.options.maximumFramingByteCount, context: loop)
        guard let stream = made else { throw Self.failure() }
        try Self.prepare(ssl, for: peer)
        if let identity { stream.resumption.key.certificate = try Self.install(identity, on: ssl) }
        if let known = sessions.take(for: stream.resumption.key) {
            SSL_set_session(ssl, known.session.pointer)
            stream.resumption.expiry = known.expiry
        }
        return stream
    }

    private static func prepare(_ ssl: OpaquePointer, for peer: TLSPeer) throws(TransferFailure) {
        if let name = peer.serverName, fw_ssl_set_host_name(ssl, name) != 1 { throw failure() }
        let offer = peer.offer.flatMap { [UInt8($0.name.utf8.count)] + Array($0.name.utf8) }
        // Unlike other functions of OpenSSL, this one returns 0 for success.
        if !offer.isEmpty, SSL_set_alpn_protos(ssl, offer, UInt32(offer.count)) != 0 { throw failure() }
        if peer.rule.mayWait { _ = fw_ssl_request_status(ssl) }
    }

    /// Installs the client identity to show if the server asks for one; returns the digest of its certificate.
    static func install(_ identity: LoadedIdentity, on ssl: OpaquePointer) throws(TransferFailure) -> Data {
        do throws(ClientIdentityError) {
            try identity.install(on: ssl)
        } catch {
            throw TLSFailure.unusable(error)
        }
        return identity.digest
    }

    private static func failure() -> TransferFailure {
        .exchange(.secureConnectionFailed, detail: "TLS cannot begin: \(OpenSSLError.drain())", engineCode: 0)
    }
}

/// Owns the `SSL_CTX` of a transport's connections.
private final class TLSClientContext {
    let pointer: OpaquePointer

    init(_ options: TransportOptions, _ keyLog: KeyLog?) throws(TransferFailure) {
        OpenSSLLibrary.initialise()
        ERR_clear_error()
        guard let made = SSL_CTX_new(TLS_client_method()) else { throw Self.failure("no context") }
        pointer = made
        guard fw_ssl_ctx_set_minimum_version(pointer, options.minimumTLSVersion.number) == 1,
            fw_ssl_ctx_set_maximum_version(pointer, options.maximumTLSVersion?.number ?? 0) == 1
        else { throw Self.failure("the versions of TLS in the options") }
        if let list = options.cipherList, SSL_CTX_set_cipher_list(pointer, list) != 1 {
            throw Self.failure("the list of ciphers “\(list)”")
        }
        if let suites = options.cipherSuites, SSL_CTX_set_ciphersuites(pointer, suites) != 1 {
            throw Self.failure("the list of cipher suites “\(suites)”")
        }
        SSL_CTX_set_options(pointer, fw_ssl_no_renegotiation)
        fw_ssl_ctx_set_mode(
            pointer,
            Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS))
        fw_ssl_ctx_set_cache_mode(pointer, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL))
        SSL_CTX_sess_set_new_cb(pointer, sessionMade)
        // Without SSL_VERIFY_PEER, OpenSSL calls the verifier but ignores its verdict (SSL_CTX_set_verify(3)).
        SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_cert_verify_callback(pointer, verifyPeer, nil)
        SSL_CTX_set_cert_cb(pointer, identityWanted, nil)
        keyLog?.install(on: pointer)
    }

    deinit { SSL_CTX_free(pointer) }

    private static func failure(_ what: String) -> TransferFailure {
        .exchange(
            .secureConnectionFailed, detail: "OpenSSL refuses \(what): \(OpenSSLError.drain())", engineCode: 0)
    }
}

extension TLSVersion {
    /// OpenSSL's number for the version.
    fileprivate var number: Int32 {
        switch self {
        case .tls10: TLS1_VERSION
        case .tls11: TLS1_1_VERSION
        case .tls12: TLS1_2_VERSION
        case .tls13: TLS1_3_VERSION
        }
    }
}

// OpenSSL calls these functions inside methods of `TLSStream`, on the loop's thread or on another one
// (`OffloadedStep`). The `SSL` holds an unretained pointer to the stream.

/// Verifies the certificate chain that the peer sent; after `.hold`, OpenSSL calls this function again.
private func verifyPeer(_ context: OpaquePointer?, _: UnsafeMutableRawPointer?) -> Int32 {
    guard let context, let ssl = fw_ssl_of_verification(context).map({ OpaquePointer($0) }),
        let stream = TLSStream.of(ssl)
    else { return 0 }
    let answer = OpenSSLError.discarding {
        let evidence = { PeerEvidence(of: context, on: ssl) }
        return stream.isOffLoop ? stream.answerAboutPeer(evidence) : stream.handshake?.verify(evidence()) ?? .refuse
    }
    switch answer {
    case .proceed:
        X509_STORE_CTX_set_error(context, X509_V_OK)
        return 1
    case .hold:
        fw_ssl_retry_verify(ssl)
        return 1
    case .refuse:
        X509_STORE_CTX_set_error(context, X509_V_ERR_CERT_UNTRUSTED)
        return 0
    }
}

/// Chooses the client certificate that the server requested; after `.hold`, OpenSSL calls this function again.
private func identityWanted(_ ssl: OpaquePointer?, _: UnsafeMutableRawPointer?) -> Int32 {
    guard let ssl, let stream = TLSStream.of(ssl) else { return 0 }
    let answer = OpenSSLError.discarding {
        stream.isOffLoop ? stream.answerAboutIdentity() : stream.handshake?.identityWanted() ?? .refuse
    }
    switch answer {
    case .proceed: return 1
    case .hold: return -1
    case .refuse: return 0
    }
}

/// Stores a session that the server issued for resumption; the result 0 leaves the reference with OpenSSL.
private func sessionMade(_ ssl: OpaquePointer?, _ session: OpaquePointer?) -> Int32 {
    guard let ssl, let session, let copy = OwnedSession(copyOf: session) else { return 0 }
    TLSStream.of(ssl)?.take(copy)
    return 0
}
