// OpenSSL's initialisation, its version, and its reports about connections.

import COpenSSL

/// Prevents OpenSSL from registering an exit handler, which would free memory that our threads still use.
///
/// The first call of OpenSSL decides this for the whole process, and that call may come from our code, the program or
/// another library. So the loader runs this function before `main`, as a C constructor. The function needs neither the
/// heap nor the Swift runtime, and takes microseconds.
@used @section(".init_array")
private let withoutExitHandler: @convention(c) () -> Void = {
    OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
}

/// The OpenSSL library: its initialisation, which may be repeated, its version, and what it reports about a connection.
enum OpenSSLLibrary {
    /// Loads OpenSSL's configuration, error texts and TLS tables, which takes a millisecond the first time.
    static func initialise() {
        OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }

    /// The version of the loaded library, such as `3.0.17`.
    static var version: String {
        String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))
    }

    /// Returns the TLS version and the cipher of a connection; `handle` is its `SSL *`.
    static func report(of handle: UnsafeMutableRawPointer) -> (version: String, cipher: String)? {
        let ssl = OpaquePointer(handle)
        guard let version = SSL_get_version(ssl), let cipher = SSL_get_current_cipher(ssl) else { return nil }
        return (String(cString: version), String(cString: SSL_CIPHER_get_name(cipher)))
    }
}
