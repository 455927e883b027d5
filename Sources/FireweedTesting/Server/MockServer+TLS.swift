// TLS of a mock server, and the certificates of its clients.

public import Fireweed
import FireweedTransport
import Foundation

extension MockServer {
    /// The TLS settings of a ``MockServer``.
    ///
    /// ```swift
    /// let server = try MockServer.start(tls: MockServer.TLSOptions(clientCertificates: .required)) { Stub.any() }
    /// var options = server.transportOptions
    /// options.clientIdentity = try server.makeClientIdentity(name: "Ada")
    /// let session = Session(configuration: .af.ephemeral, transportOptions: options)
    /// _ = await session.request(server.url()).serializingData().response
    /// #expect(try await server.takeRequest().connection?.clientCertificate?.subject == "CN = Ada")
    /// ```
    public struct TLSOptions: Sendable, Hashable {
        /// Whether clients are asked for certificates.
        ///
        /// A certificate that the server's authority did not issue ends the handshake.
        public enum ClientCertificates: Sendable, Hashable {
            /// Clients are not asked.
            case ignored
            /// Clients are asked, and may send none.
            case requested
            /// Clients are asked; the handshake fails when a client sends none.
            case required
        }

        /// The kind of the server's certificate.
        public var certificate: MockCertificate
        /// The versions of TLS that the server accepts, both ends included.
        public var versions: ClosedRange<TLSVersion>
        /// Whether clients are asked for certificates.
        public var clientCertificates: ClientCertificates

        /// Makes options.
        ///
        /// - Parameters:
        ///   - certificate: the kind of the server's certificate; `trusted` by default.
        ///   - versions: the versions of TLS that the server accepts; 1.2 and 1.3 by default.
        ///   - clientCertificates: whether clients are asked for certificates; they are not by default.
        public init(
            certificate: MockCertificate = .trusted, versions: ClosedRange<TLSVersion> = .tls12 ... .tls13,
            clientCertificates: ClientCertificates = .ignored
        ) {
            self.certificate = certificate
            self.versions = versions
            self.clientCertificates = clientCertificates
        }
    }

    /// Makes a certificate that the server accepts from a client, and its key.
    ///
    /// Both are in files, which are deleted when the server is released.
    ///
    /// - Parameter name: the common name of the certificate's subject.
    /// - Returns: an identity for `TransportOptions.clientIdentity`.
    /// - Throws: ``MockServerError`` for a server in clear text, an error of the file system when no file can be
    ///   written.
    public func makeClientIdentity(name: String = "client") throws -> ClientIdentity {
        guard let clientAuthority else {
            throw MockServerError(description: "a server that issues certificates to clients needs TLS")
        }
        var options = GeneratedCertificate.Options()
        (options.names, options.purpose) = (nil, "clientAuth")
        let files = try IdentityFiles(try GeneratedCertificate(name, signedBy: clientAuthority, options))
        keep(files)
        return ClientIdentity(certificate: files.certificate, privateKey: files.key)
    }
}

/// The files of a client's certificate and key, removed with their last reference.
final class IdentityFiles: Sendable {
    private let folder: URL
    var certificate: URL { folder.appending(path: "certificate.pem") }
    var key: URL { folder.appending(path: "key.pem") }

    init(_ made: GeneratedCertificate) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "fireweed-identity-\(UUID.random().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try Data(Certificate(der: made.der).pem.utf8).write(to: certificate)
        try made.keyPEM.write(to: key)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }
}
