// Certificates of any kind, made by the openssl command.

public import Foundation

/// Makes certificates and keys in a temporary folder, which is removed when the generator is released.
public final class CertificateGenerator: Sendable {
    /// When a certificate is valid.
    public enum Dates: Sendable {
        /// From now on for a month.
        case current
        /// In 2020.
        case past
        /// In 2045.
        case future
    }

    /// The kind of a key.
    public enum Key: Sendable {
        /// An elliptic curve of 256 bits.
        case p256
        /// RSA of 1024 bits, which is too short.
        case rsa1024
        /// RSA of 2048 bits.
        case rsa2048

        fileprivate var arguments: [String] {
            switch self {
            case .p256: ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
            case .rsa1024: ["-newkey", "rsa:1024"]
            case .rsa2048: ["-newkey", "rsa:2048"]
            }
        }
    }

    /// A certificate and its key, in PEM.
    public struct Issued: Sendable {
        /// The certificate's file.
        public let certificate: URL
        /// Its private key's file.
        public let key: URL
        /// The certificate.
        public let pem: String
    }

    /// The X.509 extensions of an authority's certificate.
    public static let authority = [
        "basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign",
    ]

    /// The folder of the files.
    public let folder: TemporaryFolder
    private let configuration: URL

    /// Makes a generator.
    public init() throws {
        folder = try TemporaryFolder()
        configuration = folder.file("req.cnf")
        try "[req]\ndistinguished_name = any\n[any]\n".write(to: configuration, atomically: true, encoding: .utf8)
    }

    /// Issues a certificate; it is self-signed when there is no issuer.
    public func issue(
        _ commonName: String, _ extensions: [String], by issuer: Issued? = nil, key: Key = .p256,
        digest: String = "sha256", dates: Dates = .current
    ) throws -> Issued {
        let base = UUID().uuidString
        let (certificate, keyFile) = (folder.file("\(base).pem"), folder.file("\(base).key"))
        let subject =
            ["-config", configuration.path, "-nodes", "-keyout", keyFile.path, "-subj", "/CN=\(commonName)"]
            + key.arguments + extensions.flatMap { ["-addext", $0] }
        let signer = issuer.map { ["-CA", $0.certificate.path, "-CAkey", $0.key.path] } ?? []
        switch dates {
        case .current:
            try run(["req", "-x509", "-days", "30", "-\(digest)", "-out", certificate.path] + subject + signer)
        case .past, .future:
            let request = folder.file("\(base).csr").path
            try run(["req", "-new", "-out", request] + subject)
            let years =
                dates == .past ? ["20200101000000Z", "20210101000000Z"] : ["20450101000000Z", "20460101000000Z"]
            let own = issuer.map { ["-cert", $0.certificate.path, "-keyfile", $0.key.path] }
            try run(
                ["ca", "-batch", "-notext", "-config", try register(base), "-rand_serial", "-in", request]
                    + ["-out", certificate.path, "-startdate", years[0], "-enddate", years[1]]
                    + (own ?? ["-selfsign", "-keyfile", keyFile.path]))
        }
        let pem = try String(contentsOf: certificate, encoding: .utf8)
        return Issued(certificate: certificate, key: keyFile, pem: pem)
    }

    /// Writes the configuration for one run of `openssl ca`, with an empty index file, and returns its path.
    ///
    /// With OpenSSL of Debian 12, only `openssl ca` takes a start and an end date.
    private func register(_ base: String) throws -> String {
        let (settings, index) = (folder.file("\(base).cnf"), folder.file("\(base).txt"))
        try Data().write(to: index)
        try """
        [ca]
        default_ca = own
        [own]
        database = \(index.path)
        serial = \(folder.file("\(base).serial").path)
        new_certs_dir = \(folder.url.path)
        default_md = sha256
        copy_extensions = copyall
        policy = any
        [any]
        commonName = optional
        """.write(to: settings, atomically: true, encoding: .utf8)
        return settings.path
    }

    /// Runs the openssl command in the folder.
    public func run(_ arguments: [String]) throws {
        try ChildProcess.run("openssl", arguments, package: "openssl", in: folder.url)
    }
}
