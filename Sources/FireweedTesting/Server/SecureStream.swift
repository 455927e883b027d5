// TLS on a connection of a mock server.

import COpenSSL
import Fireweed
import FireweedTransport
import Foundation
import Glibc
import Synchronization

/// The certificate and key with which a server speaks TLS.
final class ServerIdentity: @unchecked Sendable {
    // SAFETY: OpenSSL's contexts are safe from every thread once they are set up; the status is set before that.
    let context: OpaquePointer
    // This property keeps the status alive for the context's callback, which does not retain it; each handshake retains
    // this identity.
    private var stapledStatus: StapledStatus?

    private init() throws {
        guard let context = SSL_CTX_new(TLS_server_method()) else {
            throw MockServerError(description: "OpenSSL has no TLS")
        }
        self.context = context
    }

    /// Reads PEM files: a certificate with its chain, and its key, which may be encrypted.
    convenience init(certificateFile: String, keyFile: String, passphrase: String?) throws {
        try self.init()
        defer { ERR_clear_error() }
        // The server refuses TLS 1.0 and 1.1, which are deprecated (RFC 8996).
        fw_ssl_ctx_set_minimum_version(context, TLS1_2_VERSION)
        let secret = KeyPassphrase(passphrase)
        SSL_CTX_set_default_passwd_cb_userdata(context, Unmanaged.passUnretained(secret).toOpaque())
        SSL_CTX_set_default_passwd_cb(context) { buffer, size, _, owner in
            owner.map { Unmanaged<KeyPassphrase>.fromOpaque($0).takeUnretainedValue().copy(to: buffer, size) } ?? -1
        }
        let isUsable = withExtendedLifetime(secret) {
            SSL_CTX_use_certificate_chain_file(context, certificateFile) == 1
                && SSL_CTX_use_PrivateKey_file(context, keyFile, SSL_FILETYPE_PEM) == 1
                && SSL_CTX_check_private_key(context) == 1
        }
        SSL_CTX_set_default_passwd_cb_userdata(context, nil)
        guard isUsable else {
            let reason =
                secret.isMissing
                ? "the key is encrypted, and its passphrase is not given"
                : ERR_reason_error_string(ERR_peek_last_error()).map { String(cString: $0) } ?? "unknown error"
            throw MockServerError(
                description: "cannot speak TLS with this certificate: \(certificateFile), \(keyFile): \(reason)")
        }
    }

    /// Makes an identity that sends a chain, whose first certificate is the server's own.
    ///
    /// Level 0 of security lets a server send weak certificates, which clients refuse and some tests need.
    convenience init(_ chain: [GeneratedCertificate], securityLevel: Int32 = 0) throws {
        try self.init()
        SSL_CTX_set_security_level(context, securityLevel)
        guard let leaf = chain.first, SSL_CTX_use_certificate(context, leaf.certificate) == 1,
            SSL_CTX_use_PrivateKey(context, leaf.key) == 1,
            chain.dropFirst().allSatisfy({ fw_ssl_ctx_add_chain(context, $0.certificate) == 1 })
        else { throw MockServerError(description: "OpenSSL does not take the certificate") }
    }

    /// Sends an OCSP response to clients that ask for one (RFC 6066 §8); called before the first handshake.
    func staple(_ response: Data) {
        let status = StapledStatus(response)
        stapledStatus = status
        _ = fw_ssl_ctx_request_status(
            context,
            { ssl, owner in
                guard let ssl, let owner else { return SSL_TLSEXT_ERR_NOACK }
                return Unmanaged<StapledStatus>.fromOpaque(owner).takeUnretainedValue().staple(to: ssl)
            }, Unmanaged.passUnretained(status).toOpaque())
    }

    /// Sets the versions of TLS that are accepted; called before the first handshake.
    func accept(_ versions: ClosedRange<TLSVersion>) {
        _ = fw_ssl_ctx_set_minimum_version(context, versions.lowerBound.number)
        _ = fw_ssl_ctx_set_maximum_version(context, versions.upperBound.number)
    }

    /// Asks clients for certificates of an authority; called before the first handshake.
    func ask(for certificates: MockServer.TLSOptions.ClientCertificates, from authority: GeneratedCertificate) {
        guard certificates != .ignored else { return }
        let demand = certificates == .required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | demand, nil)
        X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.certificate)
        SSL_CTX_add_client_CA(context, authority.certificate)
        // OpenSSL resumes sessions of clients with a certificate only when the context has a session ID context.
        let name: [UInt8] = Array("fireweed".utf8)
        SSL_CTX_set_session_id_context(context, name, UInt32(name.count))
    }

    /// Chooses HTTP/2 when a client offers it by ALPN (RFC 7301), else HTTP/1.1.
    func offerHTTP2() {
        SSL_CTX_set_alpn_select_cb(
            context,
            { _, chosen, chosenCount, offered, offeredCount, _ in
                for name in ["h2", "http/1.1"] {
                    var rest = UnsafeBufferPointer(start: offered, count: Int(offeredCount))[...]
                    // In the list that the client offered, a byte with its length precedes each name.
                    while let count = rest.popFirst(), rest.count >= Int(count) {
                        if count > 0, rest.prefix(Int(count)).elementsEqual(name.utf8) {
                            chosen?.pointee = rest.base.baseAddress.map { $0 + rest.startIndex }
                            chosenCount?.pointee = count
                            return SSL_TLSEXT_ERR_OK
                        }
                        rest = rest.dropFirst(Int(count))
                    }
                }
                return SSL_TLSEXT_ERR_NOACK
            }, nil)
    }

    deinit { SSL_CTX_free(context) }
}

/// The passphrase of a key, for OpenSSL, which would ask at the terminal without one.
private final class KeyPassphrase {
    private let bytes: [UInt8]?
    /// Whether a passphrase was needed, and there was none.
    private(set) var isMissing = false

    init(_ text: String?) {
        bytes = text.map { Array($0.utf8) }
    }

    /// Returns the number of copied bytes, or -1 for none.
    func copy(to buffer: UnsafeMutablePointer<CChar>?, _ size: Int32) -> Int32 {
        isMissing = bytes == nil
        guard let bytes, let buffer, bytes.count <= Int(size) else { return -1 }
        UnsafeMutableRawBufferPointer(start: buffer, count: Int(size)).checkedCopy(from: bytes)
        return Int32(bytes.count)
    }
}

/// An OCSP response that is stapled to a server's certificate.
private final class StapledStatus {
    private let response: Data

    init(_ response: Data) {
        self.response = response
    }

    /// Gives OpenSSL a copy, which OpenSSL frees.
    func staple(to ssl: OpaquePointer) -> Int32 {
        guard let copy = CRYPTO_malloc(response.count, nil, 0) else { return SSL_TLSEXT_ERR_NOACK }
        response.copyBytes(to: UnsafeMutableRawBufferPointer(start: copy, count: response.count))
        SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_STATUS_REQ_OCSP_RESP, response.count, copy)
        return SSL_TLSEXT_ERR_OK
    }
}

/// TLS over memory BIOs: if OpenSSL wrote to the socket, it could raise SIGPIPE.
///
/// One thread reads, and another one may write. An OpenSSL connection allows one thread at a time: calls to OpenSSL are
/// made under the lock; waiting for bytes is not.
final class SecureStream: ServerStream {
    private let descriptor: Int32
    private let ssl: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer
    private let plain: PlainStream
    private let lock = Mutex(())

    /// Performs the handshake; `nil` when it fails.
    init?(_ descriptor: Int32, _ identity: ServerIdentity) {
        guard let ssl = SSL_new(identity.context), let input = BIO_new(BIO_s_mem()),
            let output = BIO_new(BIO_s_mem())
        else {
            return nil
        }
        self.descriptor = descriptor
        (self.ssl, self.input, self.output) = (ssl, input, output)
        plain = PlainStream(descriptor)
        SSL_set_bio(ssl, input, output)
        SSL_set_accept_state(ssl)
        while true {
            let result = lock.withLock { _ in
                let result = SSL_do_handshake(ssl)
                let isWaiting = result != 1 && SSL_get_error(ssl, result) == SSL_ERROR_WANT_READ
                ERR_clear_error()
                return (isDone: result == 1, isWaiting: isWaiting, isSent: flush())
            }
            if result.isDone { return }
            guard result.isWaiting, result.isSent, feed() else { return nil }
        }
    }

    deinit { SSL_free(ssl) }

    /// Notes the TLS version and the client's certificate of the handshake.
    func describe(in connection: inout RecordedConnection) {
        lock.withLock { _ in
            connection.tlsVersion = TLSVersion(number: SSL_version(ssl))
            guard let certificate = SSL_get1_peer_certificate(ssl) else { return }
            defer { X509_free(certificate) }
            connection.clientCertificate = try? Certificate(der: GeneratedCertificate.der { i2d_X509(certificate, $0) })
        }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let (count, isWaiting) = lock.withLock { _ in
                let count = SSL_read(ssl, buffer.baseAddress, Int32(clamping: buffer.count))
                let isWaiting = count <= 0 && SSL_get_error(ssl, count) == SSL_ERROR_WANT_READ
                ERR_clear_error()
                _ = flush()
                return (Int(count), isWaiting)
            }
            if count > 0 { return count }
            guard isWaiting, feed() else { return 0 }
        }
    }

    func write(_ bytes: Data) -> Bool {
        guard !bytes.isEmpty else { return true }
        return lock.withLock { _ in
            let count = bytes.withUnsafeBytes {
                SSL_write(ssl, $0.baseAddress, Int32(clamping: $0.count))
            }
            ERR_clear_error()
            return count > 0 && flush()
        }
    }

    func end() {
        lock.withLock { _ in
            SSL_shutdown(ssl)
            ERR_clear_error()
            _ = flush()
        }
    }

    /// Gives OpenSSL the next bytes of the connection; false at its end.
    private func feed() -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 32 * 1024, alignment: 16) { space in
            let count = plain.read(into: space)
            guard count > 0 else { return false }
            return lock.withLock { _ in BIO_write(input, space.baseAddress, Int32(count)) == Int32(count)
            }
        }
    }

    /// Sends OpenSSL's pending output; called under the lock.
    private func flush() -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 32 * 1024, alignment: 16) { space in
            while true {
                let count = BIO_read(output, space.baseAddress, Int32(space.count))
                guard count > 0 else { return true }
                guard plain.write(Data(space[..<Int(count)])) else { return false }
            }
        }
    }
}

extension TLSVersion {
    /// The version's number on the wire (RFC 8446 §4.2.1).
    fileprivate var number: Int32 { TLS1_VERSION + Int32(rawValue) }

    fileprivate init?(number: Int32) {
        self.init(rawValue: Int(number - TLS1_VERSION))
    }
}
