// The TLS requirements of HTTP/2.

import COpenSSL

/// Checks a connection that negotiated HTTP/2 against RFC 9113 §9.2.
enum HTTP2Security {
    /// Returns why the connection may not carry HTTP/2, as a part of a sentence; `nil` if it may.
    ///
    /// HTTP/2 allows all ciphers of TLS 1.3. Renegotiation (see `TLSClient`) and compression (OpenSSL's default) are
    /// off for every connection.
    static func flaw(of ssl: OpaquePointer) -> String? {
        let version = SSL_version(ssl)
        guard version < TLS1_3_VERSION else { return nil }
        guard version == TLS1_2_VERSION else { return "\(String(cString: SSL_get_version(ssl))) (RFC 9113 §9.2)" }
        guard let cipher = SSL_get_current_cipher(ssl) else { return "no cipher" }
        let exchanges = [NID_kx_ecdhe, NID_kx_dhe, NID_kx_ecdhe_psk, NID_kx_dhe_psk]
        guard SSL_CIPHER_is_aead(cipher) == 1, exchanges.contains(SSL_CIPHER_get_kx_nid(cipher)) else {
            return "the cipher \(String(cString: SSL_CIPHER_get_name(cipher))) (RFC 9113 §9.2.2)"
        }
        return nil
    }
}
