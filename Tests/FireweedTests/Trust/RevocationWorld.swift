import Fireweed
import FixtureServer
import Foundation

/// Authorities that answer for what they issued, over OCSP and with lists.
final class RevocationWorld: Sendable {
    static var shared: RevocationWorld { get throws { try made.get() } }
    private static let made = Result { try RevocationWorld() }

    typealias Issued = CertificateGenerator.Issued

    let generator: CertificateGenerator
    let root: Issued
    let middle: Issued
    /// Says of itself where OCSP is.
    let good: Issued
    let revoked: Issued
    /// Say of themselves where the list is, and nothing of OCSP.
    let listedGood: Issued
    let listedRevoked: Issued
    /// Say nothing.
    let silentGood: Issued
    let silentRevoked: Issued
    /// Of the intermediate's certificates.
    let register: URL
    let list: URL
    let rootList: RevocationList
    /// Serves the list.
    let listServer: ScriptedServer
    private let listPort: PortReservation
    private let responder: OCSPResponder

    private init() throws {
        let generator = try CertificateGenerator()
        self.generator = generator
        let port = try PortReservation()
        // The list's server is made when the list is; its port must be in the certificates before.
        listPort = try PortReservation()
        root = try generator.issue("Root", CertificateGenerator.authority)
        let middle = try generator.issue("Middle", CertificateGenerator.authority, by: root)
        self.middle = middle
        func leaf(_ extensions: String...) throws -> Issued {
            try generator.issue(
                "Leaf", ["subjectAltName=DNS:localhost", "extendedKeyUsage=serverAuth"] + extensions, by: middle)
        }
        let responderField = "authorityInfoAccess=OCSP;URI:http://127.0.0.1:\(port.number)"
        let listField = "crlDistributionPoints=URI:http://127.0.0.1:\(listPort.number)/list.crl"
        good = try leaf(responderField)
        revoked = try leaf(responderField)
        listedGood = try leaf(listField)
        listedRevoked = try leaf(listField)
        silentGood = try leaf()
        silentRevoked = try leaf()
        func serial(_ issued: Issued) throws -> String { try Certificate(pem: issued.pem).serialNumber }
        let takenBack = try [revoked, listedRevoked, silentRevoked].map(serial)
        register = try generator.register(valid: [good, listedGood, silentGood].map(serial), revoked: takenBack)
        list = try generator.revocationList(revoked: takenBack, by: middle)
        rootList = try RevocationList(contentsOf: generator.revocationList(revoked: [], by: root))
        responder = try OCSPResponder(port: port, register: register, issuer: middle)
        let der = try RevocationList(contentsOf: list).derRepresentation
        listServer = try ScriptedServer.start(port: listPort.number, [Self.serving(der)])
    }

    /// A script that answers with these bytes.
    static func serving(_ data: Data) -> [ScriptedServer.Action] {
        [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: \(data.count)\r\n\r\n"), .sendData(data), .close]
    }

    /// What a client that trusts the root sees of a server.
    func trust(_ leaf: Issued, stapled: URL? = nil) throws -> ServerTrust {
        ServerTrust(
            certificates: [try Certificate(pem: leaf.pem), try Certificate(pem: middle.pem)], host: "localhost",
            authorities: .certificates([try Certificate(pem: root.pem)]),
            stapledStatus: try stapled.map { try Data(contentsOf: $0) })
    }

    /// Demands a clear answer; the root's list speaks for the intermediate.
    func strict(
        _ options: RevocationTrustEvaluator.Options = .any, lists: [RevocationList] = [],
        timeout: Duration = TestTimeouts.limit
    ) -> RevocationTrustEvaluator {
        RevocationTrustEvaluator(
            options: options.union(.requirePositiveResponse), revocationLists: [rootList] + lists, timeout: timeout)
    }
}
