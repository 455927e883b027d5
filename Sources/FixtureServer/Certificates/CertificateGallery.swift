// Chains of every kind that a client has to judge, made by the openssl command.

/// A trusted root, and servers below it and elsewhere, each with one thing about it.
public final class CertificateGallery: Sendable {
    /// A server's chain, as it would send it.
    public struct Exhibit: Sendable {
        /// What there is to see.
        public let name: String
        /// The host that a client asks for.
        public let host: String
        /// The certificates, the leaf first.
        public let chain: [CertificateFoundry.Issued]

        /// The chain in PEM.
        public var pem: String { chain.map(\.pem).joined() }
    }

    /// What issues the gallery's certificates; it can make more.
    public let foundry: CertificateFoundry
    /// The one authority to trust.
    public let root: CertificateFoundry.Issued
    /// The authority between the root and most servers.
    public let intermediate: CertificateFoundry.Issued
    /// A server with nothing wrong about it.
    public let server: CertificateFoundry.Issued
    /// All there is, in a fixed order.
    public let exhibits: [Exhibit]

    /// One for the whole process, made at its first use.
    public static var shared: CertificateGallery { get throws { try made.get() } }
    private static let made = Result { try CertificateGallery() }

    /// Makes the gallery: about two dozen certificates, in half a second.
    public init() throws {
        let foundry = try CertificateFoundry()
        let root = try foundry.issue("Root", CertificateFoundry.authority)
        let intermediate = try foundry.issue("Intermediate", CertificateFoundry.authority, by: root)
        let server = try foundry.issue("Server", Self.names("DNS:localhost"), by: intermediate)
        self.foundry = foundry
        self.root = root
        self.intermediate = intermediate
        self.server = server
        exhibits = try Self.exhibits(of: foundry, root, intermediate, server)
    }

    /// The exhibit of a name.
    public subscript(name: String) -> Exhibit? { exhibits.first { $0.name == name } }

    private static func names(_ names: String) -> [String] {
        ["basicConstraints=critical,CA:FALSE", "subjectAltName=\(names)", "extendedKeyUsage=serverAuth"]
    }

    private static func exhibits(
        of foundry: CertificateFoundry, _ root: CertificateFoundry.Issued, _ middle: CertificateFoundry.Issued,
        _ server: CertificateFoundry.Issued
    ) throws -> [Exhibit] {
        let local = names("DNS:localhost")
        let stranger = try foundry.issue("Stranger", CertificateFoundry.authority)
        let strangers = try foundry.issue("Server", local, by: stranger)
        let constrained = try foundry.issue(
            "Constrained", CertificateFoundry.authority + ["nameConstraints=critical,permitted;DNS:example.com"],
            by: root)
        let shortMiddle = try foundry.issue("Short", CertificateFoundry.authority, by: root, key: .rsa1024)
        let customer = try foundry.issue("Customer", names("DNS:other.example"), by: middle)
        return [
            Exhibit(name: "valid", host: "localhost", chain: [server, middle]),
            Exhibit(name: "valid, whole", host: "localhost", chain: [server, middle, root]),
            Exhibit(name: "valid, disordered", host: "localhost", chain: [server, root, stranger, middle]),
            Exhibit(
                name: "expired", host: "localhost",
                chain: [try foundry.issue("Old", local, by: middle, dates: .past), middle]),
            Exhibit(
                name: "not yet valid", host: "localhost",
                chain: [try foundry.issue("Young", local, by: middle, dates: .future), middle]),
            Exhibit(name: "wrong host", host: "wrong.example", chain: [server, middle]),
            Exhibit(name: "self-signed", host: "localhost", chain: [try foundry.issue("Self", local)]),
            Exhibit(name: "untrusted root", host: "localhost", chain: [strangers, stranger]),
            Exhibit(name: "unknown issuer", host: "localhost", chain: [strangers]),
            Exhibit(name: "missing intermediate", host: "localhost", chain: [server]),
            Exhibit(
                name: "weak key", host: "localhost",
                chain: [try foundry.issue("Weak", local, by: middle, key: .rsa1024), middle]),
            Exhibit(
                name: "weak authority", host: "localhost",
                chain: [try foundry.issue("Below", local, by: shortMiddle), shortMiddle]),
            Exhibit(
                name: "SHA-1", host: "localhost",
                chain: [try foundry.issue("Hash", local, by: middle, digest: "sha1"), middle]),
            Exhibit(
                name: "name constraints", host: "localhost",
                chain: [try foundry.issue("Outside", local, by: constrained), constrained]),
            Exhibit(
                name: "client purpose", host: "localhost",
                chain: [
                    try foundry.issue(
                        "Client", ["subjectAltName=DNS:localhost", "extendedKeyUsage=clientAuth"], by: middle), middle,
                ]),
            Exhibit(
                name: "IP address", host: "127.0.0.1",
                chain: [try foundry.issue("Address", names("IP:127.0.0.1,IP:::1"), by: middle), middle]),
            Exhibit(
                name: "address as a name", host: "127.0.0.1",
                chain: [try foundry.issue("Text", names("DNS:127.0.0.1"), by: middle), middle]),
            Exhibit(
                name: "wildcard", host: "www.example.com",
                chain: [try foundry.issue("Wild", names("DNS:*.example.com"), by: middle), middle]),
            Exhibit(
                name: "common name only", host: "localhost",
                chain: [try foundry.issue("localhost", ["extendedKeyUsage=serverAuth"], by: middle), middle]),
            // What an attacker sends who has read the pinned certificates somewhere.
            Exhibit(
                name: "self-signed with another's chain", host: "localhost",
                chain: [try foundry.issue("Self", local), server, middle, root]),
            Exhibit(
                name: "issued by a mere server", host: "localhost",
                chain: [try foundry.issue("Forged", local, by: customer), customer, middle]),
        ]
    }
}
