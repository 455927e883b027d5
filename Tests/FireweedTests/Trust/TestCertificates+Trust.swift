import Fireweed
import FixtureServer
import Foundation
import Testing

extension TestCertificates {
    /// The trust of the server chain of this name, with the root of the test certificates as the only authority.
    static func trust(_ name: String) throws -> ServerTrust {
        let testCertificates = try shared
        let serverChain = try #require(testCertificates[name])
        return ServerTrust(
            certificates: try Certificate.all(inPEM: serverChain.pem), host: serverChain.host,
            authorities: .certificates([try Certificate(pem: testCertificates.root.pem)]))
    }
}
