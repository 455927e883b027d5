import Fireweed
import FixtureServer
import Foundation
import Testing

/// The certificates of these tests.
enum Gallery {
    static var shared: CertificateGallery { get throws { try CertificateGallery.shared } }

    /// The trust of one exhibit, with the gallery's root as the only authority.
    static func trust(_ name: String) throws -> ServerTrust {
        let gallery = try shared
        let exhibit = try #require(gallery[name])
        return ServerTrust(
            certificates: try Certificate.all(inPEM: exhibit.pem), host: exhibit.host,
            authorities: .certificates([try Certificate(pem: gallery.root.pem)]))
    }
}
