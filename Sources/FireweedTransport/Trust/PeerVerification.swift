// The hook in the TLS handshake: the chain is judged before a byte of the request leaves.

import COpenSSL
import Foundation

/// Judges the chain that a peer shows.
protocol PeerVerifier: AnyObject {
    /// Whether the handshake goes on. On the loop's thread, inside the handshake: it must not wait.
    func accepts(_ chain: [Certificate]) -> Bool
}

/// Puts a verifier into an `SSL_CTX`, unretained: it has to outlive the handshake.
enum PeerVerification {
    static func install(_ verifier: any PeerVerifier, on context: UnsafeMutableRawPointer) {
        let owner = Unmanaged.passUnretained(verifier as AnyObject).toOpaque()
        let context = OpaquePointer(context)
        // Without it a client asks the verifier and goes on whatever it says (SSL_CTX_set_verify(3)).
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_cert_verify_callback(context, verifyPeer, owner)
    }

    /// What the peer sent, the leaf first.
    fileprivate static func chain(of context: OpaquePointer) -> [Certificate] {
        guard let leaf = X509_STORE_CTX_get0_cert(context).flatMap(ChainVerification.certificate) else { return [] }
        let sent = ChainVerification.certificates(on: X509_STORE_CTX_get0_untrusted(context))
        return [leaf] + (sent.first == leaf ? sent.dropFirst() : sent[...])
    }
}

/// OpenSSL's question, on the loop's thread, inside the handshake.
///
/// The pool keeps the verifier until its handle is cleaned up.
private func verifyPeer(_ context: OpaquePointer?, _ owner: UnsafeMutableRawPointer?) -> Int32 {
    guard let context, let owner,
        let verifier = Unmanaged<AnyObject>.fromOpaque(owner).takeUnretainedValue() as? any PeerVerifier
    else { return 0 }
    let isAccepted = OpenSSLError.discarding { verifier.accepts(PeerVerification.chain(of: context)) }
    // The verdict travels on as the connection's verify result, and as the alert that the peer sees.
    X509_STORE_CTX_set_error(context, isAccepted ? X509_V_OK : X509_V_ERR_CERT_UNTRUSTED)
    return isAccepted ? 1 : 0
}
