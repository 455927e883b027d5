// The hook in the TLS handshake: the chain is judged before a byte of the request leaves.

import COpenSSL
import Foundation

/// Judges the chain that a peer shows.
protocol PeerVerifier: AnyObject {
    func accepts(_ chain: [Certificate]) -> Bool
}

/// Puts a verifier into an `SSL_CTX`, unretained: it has to outlive the handshake.
enum PeerVerification {
    static func install(_ verifier: any PeerVerifier, on context: UnsafeMutableRawPointer) {
        let owner = Unmanaged.passUnretained(verifier as AnyObject).toOpaque()
        SSL_CTX_set_cert_verify_callback(OpaquePointer(context), verifyPeer, owner)
    }

    fileprivate static func chain(of context: OpaquePointer) -> [Certificate] {
        let leaf = X509_STORE_CTX_get0_cert(context)
        var chain = [leaf].compactMap(\.self)
        let sent = X509_STORE_CTX_get0_untrusted(context)
        for index in 0..<max(0, OPENSSL_sk_num(sent)) {
            guard let value = OPENSSL_sk_value(sent, index) else { continue }
            let certificate = OpaquePointer(value)
            if certificate != leaf { chain.append(certificate) }
        }
        return chain.compactMap { pointer in
            try? Certificate(der: ParsedCertificate.der { i2d_X509(pointer, $0) })
        }
    }
}

/// OpenSSL's question, on the loop's thread, inside the handshake.
///
/// The pool keeps the verifier until its handle is cleaned up.
private func verifyPeer(_ context: OpaquePointer?, _ owner: UnsafeMutableRawPointer?) -> Int32 {
    guard let context, let owner,
        let verifier = Unmanaged<AnyObject>.fromOpaque(owner).takeUnretainedValue() as? any PeerVerifier
    else { return 0 }
    let isAccepted = verifier.accepts(PeerVerification.chain(of: context))
    X509_STORE_CTX_set_error(context, isAccepted ? X509_V_OK : X509_V_ERR_APPLICATION_VERIFICATION)
    return isAccepted ? 1 : 0
}
