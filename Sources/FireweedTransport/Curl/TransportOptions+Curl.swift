// The transport options, told to libcurl.

import CCurl
import Foundation

extension TransportOptions {
    /// Sets on a new handle what the options ask for; throws when libcurl does not take a text of theirs.
    func apply(to handle: some CurlHandle) throws(TransferFailure) {
        handle.set(CURLOPT_HTTP_VERSION, httpVersion == .http1Only ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS)
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, connectTimeoutMilliseconds)
        applyReceiveBuffer(isLarge: false, to: handle)
        if let unixSocketPath { try handle.setText(CURLOPT_UNIX_SOCKET_PATH, unixSocketPath) }
        try applyRoute(to: handle)
        if let proxy {
            try apply(proxy, to: handle)
        } else if !Proxy.isInEnvironment {
            // libcurl would look for up to six variables for every transfer.
            handle.set(CURLOPT_NOPROXY, "*")
        }
        try applyTLS(to: handle)
    }

    /// Sets how much is read at once; `isLarge` where much content is expected.
    ///
    /// libcurl's own 16 KiB cost half as much CPU again for 1 GiB as 256 KiB (0.50 s against 0.33 s). It takes the
    /// buffer from the heap for each transfer: one that is smaller than 64 KiB can be given back to it without the heap
    /// tidying up.
    func applyReceiveBuffer(isLarge: Bool, to handle: some CurlHandle) {
        handle.set(CURLOPT_BUFFERSIZE, bufferByteCount(isLarge: isLarge))
    }

    /// How much is read at once.
    func bufferByteCount(isLarge: Bool) -> Int {
        let byteCount = receiveBufferByteCount ?? (isLarge ? largeBufferByteCount : 60 * 1024)
        // libcurl 7.88 looks at the rate only after 100 full buffers, or when the socket is empty.
        let limited = min(byteCount, rate(maximumReceivedBytesPerSecond).map { $0 / 400 } ?? .max)
        return min(max(limited, 1024), 512 * 1024)
    }

    /// A rate that is a limit; `nil` for none.
    private func rate(_ bytesPerSecond: Int?) -> Int? {
        bytesPerSecond.flatMap { $0 > 0 ? $0 : nil }
    }

    /// Sets with which protocol, from where and how fast bytes move.
    private func applyRoute(to handle: some CurlHandle) throws(TransferFailure) {
        switch ipVersion {
        case .any: break
        case .v4: handle.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V4))
        case .v6: handle.set(CURLOPT_IPRESOLVE, Int(CURL_IPRESOLVE_V6))
        }
        if let networkInterface { try handle.setText(CURLOPT_INTERFACE, networkInterface) }
        if let rate = rate(maximumReceivedBytesPerSecond) {
            handle.setOffset(CURLOPT_MAX_RECV_SPEED_LARGE, Int64(rate))
        }
        if let rate = rate(maximumSentBytesPerSecond) { handle.setOffset(CURLOPT_MAX_SEND_SPEED_LARGE, Int64(rate)) }
    }

    /// As much as can expand to twice the allowed ratio, and be kept.
    ///
    /// libcurl 7.88 decodes what it has read at once, and keeps at most 64 MiB of a transfer that is paused; more is
    /// its "out of memory".
    private var largeBufferByteCount: Int {
        min(512 * 1024, 32 << 20 / max(maximumExpansionRatio ?? 1, 1))
    }

    /// libcurl's own default of 300 s would also run while a transfer waits for a free connection: as good as never.
    var connectTimeoutMilliseconds: Int {
        guard let connectTimeout, connectTimeout > .zero else { return Int(Int32.max) }
        return Int(min(max(connectTimeout.nanoseconds / 1_000_000, 1), UInt64(Int32.max)))
    }

    private func apply(_ proxy: Proxy, to handle: some CurlHandle) throws(TransferFailure) {
        guard let scheme = proxy.scheme else {
            handle.set(CURLOPT_PROXY, "")  // none, and none from the environment
            return
        }
        try handle.setText(CURLOPT_PROXY, "\(scheme.rawValue)://\(proxy.host):\(proxy.port)")
        try handle.setText(CURLOPT_PROXYUSERNAME, proxy.user)
        try handle.setText(CURLOPT_PROXYPASSWORD, proxy.password)
        handle.set(CURLOPT_PROXYAUTH, proxy.authentication.curlMask)
        try handle.setText(CURLOPT_NOPROXY, proxy.bypassedHosts.map(Self.bypass).joined(separator: ","))
    }

    /// libcurl compares what it is told with A-labels, and knows nothing of Unicode.
    private static func bypass(_ host: String) -> String {
        guard !host.utf8.allSatisfy({ $0 < 0x80 }) else { return host }
        return host.hasPrefix(".")
            ? "." + CanonicalHost.text(of: String(host.dropFirst())) : CanonicalHost.text(of: host)
    }

    private func applyTLS(to handle: some CurlHandle) throws(TransferFailure) {
        let maximum = maximumTLSVersion.map { ($0.curlVersion) << 16 } ?? CURL_SSLVERSION_MAX_DEFAULT
        handle.set(CURLOPT_SSLVERSION, minimumTLSVersion.curlVersion | maximum)
        // We judge peers in the handshake (`EasyHandle.prepareTLS`), by one set of rules; libcurl needs no authorities
        // for that. It goes on insisting that peers are verified, and checks the names of proxies.
        for option in [CURLOPT_CAINFO, CURLOPT_CAPATH, CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH] {
            handle.set(option, nil)
        }
        handle.set(CURLOPT_SSL_VERIFYHOST, 0)
        handle.set(CURLOPT_PROXY_SSL_OPTIONS, fw_proxy_mark)
        if let cipherList { try handle.setText(CURLOPT_SSL_CIPHER_LIST, cipherList) }
        if let cipherSuites { try handle.setText(CURLOPT_TLS13_CIPHERS, cipherSuites) }
        if !offersALPN { handle.set(CURLOPT_SSL_ENABLE_ALPN, 0) }
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
