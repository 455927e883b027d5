// A test connection to a host.

import Fireweed
import Foundation
import Glibc

/// Looks a host up, connects to it, makes a TLS handshake if the target is secure, and prints the results.
struct HostProbe {
    let target: StatusTarget
    let port: Int
    let invocation: Invocation

    private static let timeoutMilliseconds: Int32 = 10_000

    func run() async throws -> ExitCode {
        guard (1...65535).contains(port) else {
            Terminal.tell("fireweed: a port is a number from 1 to 65535\n")
            return .usage
        }
        let addresses: [Address]
        switch lookUp() {
        case .success(let found): addresses = found
        case .failure(let error):
            Terminal.write("look-up   \(target.host): \(error.message)\n")
            return .network
        }
        Terminal.write("look-up   \(target.host): \(addresses.map(\.text).joined(separator: ", "))\n")
        var isConnected = false
        for address in addresses {
            let start = ContinuousClock.now
            let failure = address.connect(within: Self.timeoutMilliseconds)
            let time = Self.milliseconds(since: start)
            Terminal.write("connect   \(address.text) port \(port): \(failure ?? "connected in \(time)")\n")
            isConnected = isConnected || failure == nil
            if failure == nil { break }
        }
        guard isConnected else { return .network }
        return target.isSecure ? try await handshake() : .success
    }

    /// Tests the TLS handshake with a HEAD request; any response is a success.
    private func handshake() async throws -> ExitCode {
        let host = target.host.contains(":") ? "[\(target.host)]" : target.host
        guard let url = URL(string: "https://\(host):\(port)/") else { return .usage }
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.timeoutIntervalForRequest = Double(Self.timeoutMilliseconds) / 1000
        configuration.headers = [.userAgent("fireweed/\(AFInfo.version)")]
        var options = TransportOptions()
        // The lines above are of a direct connection, so this one is direct too.
        options.proxy = Proxy.none
        try SessionMaker.applyTLS(invocation, to: &options)
        let session = Session(
            configuration: configuration, serverTrustManager: try CommandTrust.manager(for: invocation),
            redirectHandler: .doNotFollow, transportOptions: options)
        let response = await session.request(url, method: .head).serializingData(emptyResponseCodes: Set(100..<600))
            .response
        let transaction = response.metrics?.transactionMetrics.last
        let failure = response.response == nil ? response.error.map { ErrorText($0) } : nil
        let version = transaction?.negotiatedTLSProtocolVersion
        if let failure, version == nil || failure.code == .tls {
            Terminal.write("TLS       \(failure.message)\n")
            return failure.code
        }
        let cipherSuite = transaction?.negotiatedTLSCipherSuite ?? "unknown"
        let verdict = invocation.isInsecure ? "certificate not checked" : "certificate trusted"
        Terminal.write("TLS       \(version ?? "unknown"), \(cipherSuite), \(verdict)\n")
        if let failure {
            let silence = "no answer within \(Self.timeoutMilliseconds / 1000) s"
            Terminal.write("HTTP      \(failure.code == .timedOut ? silence : failure.message)\n")
            return failure.code
        }
        if let status = response.response?.statusCode {
            Terminal.write("HTTP      \(transaction?.networkProtocolName ?? "http/1.1"), status \(status)\n")
        }
        return .success
    }

    private static func milliseconds(since start: ContinuousClock.Instant) -> String {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return String(format: "%.1f ms", Double(seconds) * 1000 + Double(attoseconds) / 1e15)
    }

    // MARK: Addresses

    private struct LookUpError: Error {
        let message: String
    }

    private func lookUp() -> Result<[Address], LookUpError> {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(target.host, "\(port)", &hints, &list)
        guard code == 0 else { return .failure(LookUpError(message: String(cString: gai_strerror(code)))) }
        defer { freeaddrinfo(list) }
        var addresses: [Address] = []
        var next = list
        while let entry = next {
            if let address = Address(entry.pointee) { addresses.append(address) }
            next = entry.pointee.ai_next
        }
        return .success(addresses)
    }
}

/// An address with its port: the bytes of a `sockaddr`.
private struct Address {
    private let family: Int32
    private let bytes: [UInt8]
    let text: String

    init?(_ entry: addrinfo) {
        guard let address = entry.ai_addr else { return nil }
        family = entry.ai_family
        bytes = Array(UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen)))
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        guard getnameinfo(address, entry.ai_addrlen, &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST) == 0 else {
            return nil
        }
        text = String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Connects and closes; returns the reason of a failure, `nil` on success.
    func connect(within milliseconds: Int32) -> String? {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return String(cString: strerror(errno)) }
        defer { close(descriptor) }
        let result = bytes.withUnsafeBytes { raw in
            raw.withMemoryRebound(to: sockaddr.self) {
                Glibc.connect(descriptor, $0.baseAddress, socklen_t(bytes.count))
            }
        }
        if result == 0 { return nil }
        guard errno == EINPROGRESS else { return String(cString: strerror(errno)) }
        var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&waiting, 1, milliseconds) > 0 else { return "no answer within \(milliseconds / 1000) s" }
        var (reason, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &reason, &size)
        return reason == 0 ? nil : String(cString: strerror(reason))
    }
}
