// Certificate chains of every kind that a client has to verify, made by the openssl command.

/// A trusted root, and server chains under this root or another one, each with one property or fault.
public final class TestCertificates: Sendable {
    /// A certificate chain as a server sends it.
    public struct ServerChain: Sendable {
        /// The property or fault of the chain.
        public let name: String
        /// The host name that a client verifies.
        public let host: String
        /// The certificates, the leaf first.
        public let chain: [CertificateGenerator.Issued]

        /// The chain in PEM.
        public var pem: String { chain.map(\.pem).joined() }
    }

    /// The generator that issued the certificates, and can issue more.
    public let generator: CertificateGenerator
    /// The only authority that a client trusts.
    public let root: CertificateGenerator.Issued
    /// The authority that the root signed and that signed most server certificates.
    public let intermediate: CertificateGenerator.Issued
    /// A valid server certificate.
    public let server: CertificateGenerator.Issued
    /// All chains, in a fixed order.
    public let serverChains: [ServerChain]

    /// The certificates of this process, made at the first use.
    public static var shared: TestCertificates { get throws { try made.get() } }
    private static let made = Result { try TestCertificates() }

    /// Makes about two dozen certificates, in half a second.
    public init() throws {
        let generator = try CertificateGenerator()
        let root = try generator.issue("Root", CertificateGenerator.authority)
        let intermediate = try generator.issue("Intermediate", CertificateGenerator.authority, by: root)
        let server = try generator.issue("Server", Self.names("DNS:localhost"), by: intermediate)
        self.generator = generator
        self.root = root
        self.intermediate = intermediate
        self.server = server
        serverChains = try Self.serverChains(of: generator, root, intermediate, server)
    }

    /// The server chain of this name.
    public subscript(name: String) -> ServerChain? { serverChains.first { $0.name == name } }

    private static func names(_ names: String) -> [String] {
        ["basicConstraints=critical,CA:FALSE", "subjectAltName=\(names)", "extendedKeyUsage=serverAuth"]
    }

    private static func serverChains(
        of generator: CertificateGenerator, _ root: CertificateGenerator.Issued, _ middle: CertificateGenerator.Issued,
        _ server: CertificateGenerator.Issued
    ) throws -> [ServerChain] {
        let local = names("DNS:localhost")
        let stranger = try generator.issue("Stranger", CertificateGenerator.authority)
        let strangers = try generator.issue("Server", local, by: stranger)
        let constrained = try generator.issue(
            "Constrained", CertificateGenerator.authority + ["nameConstraints=critical,permitted;DNS:example.com"],
            by: root)
        let shortMiddle = try generator.issue("Short", CertificateGenerator.authority, by: root, key: .rsa1024)
        let customer = try generator.issue("Customer", names("DNS:other.example"), by: middle)
        return [
            ServerChain(name: "valid", host: "localhost", chain: [server, middle]),
            ServerChain(name: "valid, whole", host: "localhost", chain: [server, middle, root]),
            ServerChain(name: "valid, disordered", host: "localhost", chain: [server, root, stranger, middle]),
            ServerChain(
                name: "expired", host: "localhost",
                chain: [try generator.issue("Old", local, by: middle, dates: .past), middle]),
            ServerChain(
                name: "not yet valid", host: "localhost",
                chain: [try generator.issue("Young", local, by: middle, dates: .future), middle]),
            ServerChain(name: "wrong host", host: "wrong.example", chain: [server, middle]),
            ServerChain(name: "self-signed", host: "localhost", chain: [try generator.issue("Self", local)]),
            ServerChain(name: "untrusted root", host: "localhost", chain: [strangers, stranger]),
            ServerChain(name: "unknown issuer", host: "localhost", chain: [strangers]),
            ServerChain(name: "missing intermediate", host: "localhost", chain: [server]),
            ServerChain(
                name: "weak key", host: "localhost",
                chain: [try generator.issue("Weak", local, by: middle, key: .rsa1024), middle]),
            ServerChain(
                name: "weak authority", host: "localhost",
                chain: [try generator.issue("Below", local, by: shortMiddle), shortMiddle]),
            ServerChain(
                name: "SHA-1", host: "localhost",
                chain: [try generator.issue("Hash", local, by: middle, digest: "sha1"), middle]),
            ServerChain(
                name: "name constraints", host: "localhost",
                chain: [try generator.issue("Outside", local, by: constrained), constrained]),
            ServerChain(
                name: "client purpose", host: "localhost",
                chain: [
                    try generator.issue(
                        "Client", ["subjectAltName=DNS:localhost", "extendedKeyUsage=clientAuth"], by: middle), middle,
                ]),
            ServerChain(
                name: "IP address", host: "127.0.0.1",
                chain: [try generator.issue("Address", names("IP:127.0.0.1,IP:::1"), by: middle), middle]),
            ServerChain(
                name: "address as a name", host: "127.0.0.1",
                chain: [try generator.issue("Text", names("DNS:127.0.0.1"), by: middle), middle]),
            ServerChain(
                name: "wildcard", host: "www.example.com",
                chain: [try generator.issue("Wild", names("DNS:*.example.com"), by: middle), middle]),
            ServerChain(
                name: "common name only", host: "localhost",
                chain: [try generator.issue("localhost", ["extendedKeyUsage=serverAuth"], by: middle), middle]),
            // An attacker who knows the pinned certificates can send them after a self-signed leaf.
            ServerChain(
                name: "self-signed with another's chain", host: "localhost",
                chain: [try generator.issue("Self", local), server, middle, root]),
            ServerChain(
                name: "issued by a mere server", host: "localhost",
                chain: [try generator.issue("Forged", local, by: customer), customer, middle]),
        ]
    }
}
