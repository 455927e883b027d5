// The hook in the TLS handshake: the chain is judged before a byte of the request leaves.

import COpenSSL
import Foundation

/// What a peer showed of itself.
struct PeerEvidence {
    /// The certificates as they were sent, the leaf first.
    let chain: [Certificate]
    /// The OCSP response that came with them (RFC 6066 §8); always `nil` before TLS 1.3, where it comes later.
    let stapledStatus: Data?
    /// Whether a stapled status may still come, in a message of its own.
    let mayStapleLater: Bool
}

/// What is said about a peer.
enum PeerVerdict {
    /// The handshake goes on.
    case accepted
    /// The handshake fails.
    case refused
    /// The handshake fails for now: the verdict is still to come.
    case givenUp
}

/// Judges peers, on the loop's thread, inside the handshake: it must not wait.
protocol PeerVerifier: AnyObject {
    /// Whether the handshake goes on.
    ///
    /// Not asked when a TLS session is resumed: its verdict was given before.
    func judge(_ evidence: PeerEvidence) -> PeerVerdict
    /// Whether the handshake goes on now that all of the peer's first flight is there; the status is `nil` when none
    /// came.
    ///
    /// Only for a verifier that asked for it. In TLS 1.3 it is also asked when a TLS session is resumed, without
    /// `judge` before it: `isResumed` is true then, and the peer has shown neither certificates nor a status.
    func accepts(status: Data?, isResumed: Bool) -> Bool
}

/// Puts a verifier into an `SSL_CTX`, which keeps it.
enum PeerVerification {
    static func install(
        _ verifier: any PeerVerifier, on context: UnsafeMutableRawPointer, requestsStatus: Bool = false
    ) {
        let box = VerifierBox(verifier)
        let owner = Unmanaged.passRetained(box).toOpaque()
        let context = OpaquePointer(context)
        // Without it a client asks the verifier and goes on whatever it says (SSL_CTX_set_verify(3)).
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_options(context, fw_ssl_no_renegotiation)
        SSL_CTX_set_cert_verify_callback(context, verifyPeer, owner)
        if requestsStatus { _ = fw_ssl_ctx_request_status(context, statusArrived, owner) }
        SSL_CTX_set_ex_data(context, boxIndex, owner)
    }

    /// Where an `SSL_CTX` keeps its verifier; OpenSSL lets go of it with the context.
    private static let boxIndex = fw_ssl_ctx_index(releaseBox)

    static func evidence(of context: OpaquePointer, on ssl: OpaquePointer?) -> PeerEvidence {
        PeerEvidence(
            chain: chain(of: context), stapledStatus: ssl.flatMap(status),
            mayStapleLater: ssl.map { SSL_version($0) < TLS1_3_VERSION } ?? false)
    }

    static func status(of ssl: OpaquePointer) -> Data? {
        var bytes: UnsafePointer<UInt8>?
        let count = fw_ssl_status(ssl, &bytes)
        guard count > 0, let bytes else { return nil }
        return Data(bytes: bytes, count: count)
    }

    /// What the peer sent, the leaf first.
    private static func chain(of context: OpaquePointer) -> [Certificate] {
        guard let leaf = X509_STORE_CTX_get0_cert(context).flatMap(ChainVerification.certificate) else { return [] }
        let sent = ChainVerification.certificates(on: X509_STORE_CTX_get0_untrusted(context))
        return [leaf] + (sent.first == leaf ? sent.dropFirst() : sent[...])
    }
}

/// An object for C to hold.
private final class VerifierBox {
    let verifier: any PeerVerifier

    init(_ verifier: any PeerVerifier) {
        self.verifier = verifier
    }

    static func verifier(_ owner: UnsafeMutableRawPointer) -> any PeerVerifier {
        Unmanaged<VerifierBox>.fromOpaque(owner).takeUnretainedValue().verifier
    }
}

/// OpenSSL's question, on the loop's thread, inside the handshake; the context keeps the verifier.
private func verifyPeer(_ context: OpaquePointer?, _ owner: UnsafeMutableRawPointer?) -> Int32 {
    guard let context, let owner else { return 0 }
    let ssl = fw_ssl_of_verification(context).map { OpaquePointer($0) }
    let verdict = OpenSSLError.discarding {
        VerifierBox.verifier(owner).judge(PeerVerification.evidence(of: context, on: ssl))
    }
    switch verdict {
    case .accepted:
        X509_STORE_CTX_set_error(context, X509_V_OK)
        return 1
    case .refused:
        // The verdict travels on as the connection's verify result, and as the alert that the peer sees.
        X509_STORE_CTX_set_error(context, X509_V_ERR_CERT_UNTRUSTED)
        return 0
    case .givenUp:
        // No fault of the peer's: it sees `handshake_failure`.
        X509_STORE_CTX_set_error(context, X509_V_ERR_APPLICATION_VERIFICATION)
        return 0
    }
}

/// The server's first flight is there, with its stapled status if it has one; 0 ends the handshake.
private func statusArrived(_ ssl: OpaquePointer?, _ owner: UnsafeMutableRawPointer?) -> Int32 {
    guard let ssl, let owner else { return 0 }
    return OpenSSLError.discarding {
        let isResumed = SSL_session_reused(ssl) == 1
        let status = PeerVerification.status(of: ssl)
        return VerifierBox.verifier(owner).accepts(status: status, isResumed: isResumed) ? 1 : 0
    }
}

/// An `SSL_CTX` goes.
private func releaseBox(
    _: UnsafeMutableRawPointer?, _ owner: UnsafeMutableRawPointer?, _: UnsafeMutablePointer<CRYPTO_EX_DATA>?, _: Int32,
    _: Int,
    _: UnsafeMutableRawPointer?
) {
    guard let owner else { return }
    Unmanaged<VerifierBox>.fromOpaque(owner).release()
}
