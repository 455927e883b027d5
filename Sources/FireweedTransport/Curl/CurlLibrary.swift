// Getting libcurl ready, once for the process.

import CCurl

/// The one initialisation of libcurl and of OpenSSL below it.
enum CurlLibrary {
    /// Touching it initialises both libraries, in the order that keeps process exit safe.
    static let isInitialised: Bool = {
        // Before libcurl does it: OpenSSL's own exit handler would race with loops that are still running.
        OpenSSLLibrary.initialise()
        return curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK
    }()

    /// The version of the libcurl that is loaded, as `libcurl/7.88.1 OpenSSL/3.0.15 …`.
    static var version: String {
        String(cString: curl_version())
    }
}
