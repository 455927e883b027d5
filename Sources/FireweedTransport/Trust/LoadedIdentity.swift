// A client identity, read from its files.

import COpenSSL
import Foundation

/// Owns a certificate, its key and its intermediates.
///
/// `init` may block on the disk and take long: a key may be encrypted with millions of rounds.
final class LoadedIdentity: @unchecked Sendable {
    // SAFETY: all properties are constants, and OpenSSL counts references to certificates and keys atomically.
    /// The value that names the files and the passphrase.
    let identity: ClientIdentity
    private let certificate: ParsedCertificate
    private let intermediates: [ParsedCertificate]
    private let key: OwnedKey
    /// The SHA-256 of the certificate.
    let digest: Data

    init(_ identity: ClientIdentity) throws(ClientIdentityError) {
        BlockingCall.check("read")
        self.identity = identity
        OpenSSLLibrary.initialise()
        ERR_clear_error()
        let parts =
            switch identity.source {
            case .pem(let certificate, let privateKey):
                try Self.readPEM(certificate, privateKey, identity.passphrase)
            case .pkcs12(let file): try Self.readPKCS12(file, identity.passphrase ?? "")
            }
        (certificate, intermediates, key) = parts
        let shown = Certificate(parts.0)
        digest = Data(Digest.sha256(shown.derRepresentation))
        let belongTogether = OpenSSLError.discarding { X509_check_private_key(parts.0.x509, parts.2.pointer) == 1 }
        guard belongTogether else { throw .mismatchedKey(certificate: shown) }
    }

    var certificates: [Certificate] { [Certificate(certificate)] + intermediates.map { Certificate($0) } }

    /// Whether a signature takes milliseconds, as with RSA; with an elliptic curve it is faster than a change of
    /// threads.
    var signsSlowly: Bool { [EVP_PKEY_RSA, EVP_PKEY_RSA_PSS].contains(EVP_PKEY_get_base_id(key.pointer)) }

    /// Makes a connection use this identity.
    ///
    /// OpenSSL takes its own references.
    func install(on ssl: OpaquePointer) throws(ClientIdentityError) {
        ERR_clear_error()
        guard SSL_use_certificate(ssl, certificate.x509) == 1, SSL_use_PrivateKey(ssl, key.pointer) == 1,
            fw_ssl_clear_chain(ssl) == 1, intermediates.allSatisfy({ fw_ssl_add_chain(ssl, $0.x509) == 1 })
        else { throw .refused(reason: OpenSSLError.drain().description) }
    }

    private typealias Parts = (ParsedCertificate, [ParsedCertificate], OwnedKey)

    private static func readPEM(
        _ certificateFile: URL, _ keyFile: URL, _ passphrase: String?
    ) throws(ClientIdentityError) -> Parts {
        let chain: [ParsedCertificate]
        do {
            chain = try Certificate.all(contentsOf: certificateFile).compactMap(\.parsed)
        } catch CertificateError.unreadableFile(let url, let reason) {
            throw .unreadableFile(url, reason: reason)
        } catch {
            throw .malformedFile(certificateFile, reason: reason(of: error))
        }
        guard let first = chain.first else { throw .noCertificate(certificateFile) }
        return (first, Array(chain.dropFirst()), try readKey(keyFile, passphrase))
    }

    private static func reason(of error: any Error) -> String {
        switch error as? CertificateError {
        case .malformedFile(_, let cause): reason(of: cause)
        case .malformedDER, .noCertificateInPEM: "there is no certificate in it"
        case .malformedPEM: "a certificate in PEM has no end, or its content is not Base64"
        case .unreadablePublicKey: "a key is malformed, or of a kind that OpenSSL does not know"
        case .unreadableFile(_, let reason): reason
        case .malformedPin, nil: error.plainText
        }
    }

    private static func readKey(_ file: URL, _ passphrase: String?) throws(ClientIdentityError) -> OwnedKey {
        let text = try bytes(of: file)
        guard text.range(of: Data("PRIVATE KEY-----".utf8)) != nil else { throw .noPrivateKey(file) }
        let key = withBIO(text) { bio in
            // Always passes a passphrase, even an empty one: otherwise OpenSSL asks for it on the terminal.
            var passphrase = Array((passphrase ?? "").utf8CString)
            return PEM_read_bio_PrivateKey(bio, nil, nil, &passphrase)
        }
        if let key { return OwnedKey(key) }
        let error = OpenSSLError.drain()
        let isEncrypted = text.range(of: Data("ENCRYPTED".utf8)) != nil
        if isEncrypted { throw passphrase == nil ? .missingPassphrase(file) : .wrongPassphrase(file) }
        throw .malformedFile(file, reason: error.description)
    }

    private static func readPKCS12(_ file: URL, _ passphrase: String) throws(ClientIdentityError) -> Parts {
        let content = try bytes(of: file)
        guard let archive = withBIO(content, { d2i_PKCS12_bio($0, nil) }) else {
            throw .malformedFile(file, reason: OpenSSLError.drain().description)
        }
        defer { PKCS12_free(archive) }
        var key: OpaquePointer?
        var certificate: OpaquePointer?
        var others: OpaquePointer?
        let isRead = PKCS12_parse(archive, passphrase, &key, &certificate, &others) == 1
        defer {
            X509_free(certificate)
            fw_x509_stack_free_all(others)
        }
        let owned = key.map(OwnedKey.init)
        guard isRead else {
            let error = OpenSSLError.drain()
            let isWrong = error.contains(library: ERR_LIB_PKCS12, reason: PKCS12_R_MAC_VERIFY_FAILURE)
            throw isWrong ? .wrongPassphrase(file) : .malformedFile(file, reason: error.description)
        }
        guard let owned else { throw .noPrivateKey(file) }
        guard let first = certificate.flatMap(ChainVerification.certificate)?.parsed else { throw .noCertificate(file) }
        let rest = ChainVerification.certificates(on: others).compactMap(\.parsed)
        return (first, rest, owned)
    }

    private static func bytes(of file: URL) throws(ClientIdentityError) -> Data {
        do {
            return try Data(contentsOf: file)
        } catch {
            throw .unreadableFile(file, reason: error.localizedDescription)
        }
    }

    private static func withBIO(_ bytes: Data, _ read: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
        bytes.withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress, let count = Int32(exactly: buffer.count),
                let bio = BIO_new_mem_buf(start, count)
            else { return nil }
            defer { BIO_free(bio) }
            return read(bio)
        }
    }
}

/// Owns one `EVP_PKEY`.
final class OwnedKey {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit { EVP_PKEY_free(pointer) }
}
