import Fireweed
import FixtureServer

extension CertificateGallery {
    /// A session that knows the gallery's root.
    func session(
        _ manager: ServerTrustManager? = nil, _ change: (inout TransportOptions) -> Void = { _ in }
    ) -> Session {
        var options = TransportOptions()
        options.certificateAuthorities = .file(root.certificate)
        change(&options)
        return Session.isolated(serverTrustManager: manager, transportOptions: options)
    }
}
