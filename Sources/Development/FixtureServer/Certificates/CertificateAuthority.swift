// Certificates for tests, made by the openssl command.

public import Foundation

/// A certificate authority for tests, with its files in a temporary folder.
public final class CertificateAuthority: Sendable {
    /// When a certificate is valid.
    public enum Validity: Sendable {
        /// From now on for a month.
        case current
        /// In 2020 only.
        case expired
        /// In 2045 only.
        case notYet
    }

    /// The files of a certificate and its key, in PEM.
    public struct Issued: Sendable {
        /// The certificate.
        public let certificate: URL
        /// The private key.
        public let key: URL

        /// Names the files.
        public init(certificate: URL, key: URL) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// The authority's own certificate, in PEM.
    public let certificate: URL
    private let key: URL
    private let folder: TemporaryFolder

    /// Makes an authority, whose files are removed when its last reference is released.
    public init() throws {
        folder = try TemporaryFolder()
        certificate = folder.file("authority.pem")
        key = folder.file("authority.key")
        try Self.make(certificate, key, name: "Fireweed test authority", days: 30, in: folder)
    }

    private static func make(
        _ certificate: URL, _ key: URL, name: String, days: Int, in folder: TemporaryFolder
    ) throws {
        try openssl(
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key.path,
                "-out", certificate.path, "-days", "\(days)", "-subj", "/CN=\(name)",
            ], in: folder)
    }

    /// Issues a certificate.
    ///
    /// - Parameters:
    ///   - names: the subject alternative names, such as `DNS:localhost` or `IP:127.0.0.1`.
    ///   - validity: when it is valid.
    ///   - purpose: `serverAuth` or `clientAuth`.
    ///   - rsaBitCount: the length of an RSA key; `nil` for a key on the curve P-256.
    /// - Returns: the files of the certificate and its key.
    /// - Throws: an error when `openssl` cannot be run or fails.
    public func issue(
        _ names: [String] = ["DNS:localhost", "IP:127.0.0.1"], validity: Validity = .current,
        purpose: String = "serverAuth", rsaBitCount: Int? = nil
    ) throws -> Issued {
        let base = UUID().uuidString
        let issued = Issued(certificate: folder.file("\(base).pem"), key: folder.file("\(base).key"))
        let request = folder.file("\(base).csr").path
        let key = rsaBitCount.map { ["rsa:\($0)"] } ?? ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        try Self.openssl(
            ["req", "-new", "-newkey"] + key
                + ["-nodes", "-keyout", issued.key.path, "-out", request, "-subj", "/CN=Fireweed test"], in: folder)
        let extensions = folder.file("\(base).ext")
        try "subjectAltName=\(names.joined(separator: ","))\nextendedKeyUsage=\(purpose)\n"
            .write(to: extensions, atomically: true, encoding: .utf8)
        try sign(request, to: issued.certificate.path, extensions.path, validity)
        return issued
    }

    private func sign(_ request: String, to output: String, _ extensions: String, _ validity: Validity) throws {
        let files = ["-in", request, "-out", output, "-extfile", extensions]
        guard validity != .current else {
            // A random serial number, since several processes could use a file of serial numbers at the same time.
            let serial = String(UInt64.random(in: 1 ... .max >> 1), radix: 16)
            let authority = [
                "-CA", certificate.path, "-CAkey", key.path, "-set_serial", "0x\(serial)", "-days", "30",
            ]
            return try Self.openssl(["x509", "-req"] + authority + files, in: folder)
        }
        // With OpenSSL of Debian 12, only `openssl ca` takes a start and an end date.
        let configuration = folder.file("ca.cnf")
        let database = folder.file("index.txt")
        try "".write(to: database, atomically: true, encoding: .utf8)
        try """
        [ca]
        default_ca=own
        [own]
        database=\(database.path)
        new_certs_dir=\(folder.url.path)
        serial=\(folder.file("ca.srl").path)
        default_md=sha256
        policy=any
        [any]
        commonName=optional
        """.write(to: configuration, atomically: true, encoding: .utf8)
        let dates =
            validity == .expired ? ["20200101000000Z", "20210101000000Z"] : ["20450101000000Z", "20460101000000Z"]
        try Self.openssl(
            [
                "ca", "-batch", "-notext", "-config", configuration.path, "-cert", certificate.path, "-keyfile",
                key.path,
                "-rand_serial", "-startdate", dates[0], "-enddate", dates[1],
            ] + files, in: folder)
    }

    private static func openssl(_ arguments: [String], in folder: TemporaryFolder) throws {
        try ChildProcess.run("openssl", arguments, package: "openssl", in: folder.url)
    }
}
