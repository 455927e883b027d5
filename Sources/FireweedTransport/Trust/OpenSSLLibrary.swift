// Getting OpenSSL ready, once for the process.

import COpenSSL

/// The one initialisation of OpenSSL.
enum OpenSSLLibrary {
    /// Decides, before anything calls OpenSSL, that it registers no exit handler.
    ///
    /// The configuration file, the errors' texts and the tables of TLS wait for `initialise`: they take a millisecond,
    /// which requests in clear text do not need.
    static func prepare() {
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }

    /// Initialises without OpenSSL's exit handler, which frees what threads of ours may still be using.
    static func initialise() {
        OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }

    /// The version of the library that is loaded, as `3.0.17`.
    static var version: String {
        String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))
    }

    /// Version and cipher of a connection; `handle` is its `SSL *`.
    static func report(of handle: UnsafeMutableRawPointer) -> (version: String, cipher: String)? {
        let ssl = OpaquePointer(handle)
        guard let version = SSL_get_version(ssl), let cipher = SSL_get_current_cipher(ssl) else { return nil }
        return (String(cString: version), String(cString: SSL_CIPHER_get_name(cipher)))
    }
}
