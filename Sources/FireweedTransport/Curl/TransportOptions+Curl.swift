// The transport options, told to libcurl.

import CCurl
import Foundation

extension TransportOptions {
    /// Sets on a new handle what the options ask for.
    func apply(to handle: EasyHandle) {
        handle.set(CURLOPT_HTTP_VERSION, httpVersion == .http1Only ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS)
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, connectTimeoutMilliseconds)
        // libcurl's own 16 KiB cost a third more CPU for 1 GiB (0.45 s against 0.30 s); 120 KiB still come from the heap.
        handle.set(CURLOPT_BUFFERSIZE, min(max(receiveBufferByteCount, 1024), 512 * 1024))
        if let unixSocketPath { handle.set(CURLOPT_UNIX_SOCKET_PATH, unixSocketPath) }
        if let proxy { apply(proxy, to: handle) }
        applyTLS(to: handle)
    }

    /// libcurl's own default of 300 s would also run while a transfer waits for a free connection: as good as never.
    private var connectTimeoutMilliseconds: Int {
        guard let connectTimeout, connectTimeout > .zero else { return Int(Int32.max) }
        return Int(min(max(connectTimeout.nanoseconds / 1_000_000, 1), UInt64(Int32.max)))
    }

    private func apply(_ proxy: Proxy, to handle: EasyHandle) {
        guard let scheme = proxy.scheme else {
            handle.set(CURLOPT_PROXY, "")  // none, and none from the environment
            return
        }
        handle.set(CURLOPT_PROXY, "\(scheme.rawValue)://\(proxy.host):\(proxy.port)")
        handle.set(CURLOPT_PROXYUSERNAME, proxy.user)
        handle.set(CURLOPT_PROXYPASSWORD, proxy.password)
        handle.set(CURLOPT_PROXYAUTH, proxy.authentication.curlMask)
        handle.set(CURLOPT_NOPROXY, proxy.bypassedHosts.joined(separator: ","))
    }

    private func applyTLS(to handle: EasyHandle) {
        let maximum = maximumTLSVersion.map { ($0.curlVersion) << 16 } ?? CURL_SSLVERSION_MAX_DEFAULT
        handle.set(CURLOPT_SSLVERSION, minimumTLSVersion.curlVersion | maximum)
        switch certificateAuthorities {
        case .system: break
        case .file(let url): handle.set(CURLOPT_CAINFO, url.path)
        case .folder(let url):
            handle.set(CURLOPT_CAINFO, nil)
            handle.set(CURLOPT_CAPATH, url.path)
        case .certificates(let certificates):
            let pem = Data(certificates.map(\.pem).joined().utf8)
            handle.set(CURLOPT_CAINFO, nil)
            handle.set(CURLOPT_CAPATH, nil)
            pem.withUnsafeBytes { bytes in
                guard let start = bytes.baseAddress else { return }
                handle.check(fw_easy_set_blob(handle.easy, CURLOPT_CAINFO_BLOB, start, bytes.count))
            }
        }
        if let clientIdentity { apply(clientIdentity, to: handle) }
    }

    private func apply(_ identity: ClientIdentity, to handle: EasyHandle) {
        handle.set(CURLOPT_KEYPASSWD, identity.passphrase)
        switch identity.source {
        case .pem(let certificate, let privateKey):
            handle.set(CURLOPT_SSLCERTTYPE, "PEM")
            handle.set(CURLOPT_SSLCERT, certificate.path)
            handle.set(CURLOPT_SSLKEYTYPE, "PEM")
            handle.set(CURLOPT_SSLKEY, privateKey.path)
        case .pkcs12(let file):
            handle.set(CURLOPT_SSLCERTTYPE, "P12")
            handle.set(CURLOPT_SSLCERT, file.path)
        }
    }
}

extension TLSVersion {
    /// libcurl's number for it.
    fileprivate var curlVersion: Int {
        switch self {
        case .tls10: Int(CURL_SSLVERSION_TLSv1_0)
        case .tls11: Int(CURL_SSLVERSION_TLSv1_1)
        case .tls12: Int(CURL_SSLVERSION_TLSv1_2)
        case .tls13: Int(CURL_SSLVERSION_TLSv1_3)
        }
    }
}
