// The initialisation of OpenSSL, once for the process.

import COpenSSL

/// Makes OpenSSL register no exit handler, before `main`: the handler would free memory that our threads still use.
///
/// The first call of OpenSSL makes this decision for the process, and that call may come from anywhere: from our code,
/// from the program's, or from another library. So the loader runs this function, as it runs C's constructors. The
/// function needs neither memory nor the Swift runtime, and takes microseconds.
@used @section(".init_array")
private let withoutExitHandler: @convention(c) () -> Void = {
    OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
}

/// The one initialisation of OpenSSL.
enum OpenSSLLibrary {
    /// Loads OpenSSL's configuration, the texts of errors and the tables of TLS, which takes a millisecond.
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
