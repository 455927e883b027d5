import Fireweed
import FixtureServer

extension TestCertificates {
    /// A session that knows the test certificates' root.
    func session(
        _ manager: ServerTrustManager? = nil, _ change: (inout TransportOptions) -> Void = { _ in }
    ) -> Session {
        var options = TransportOptions()
        options.certificateAuthorities = .file(root.certificate)
        change(&options)
        return Session.isolated(serverTrustManager: manager, transportOptions: options)
    }
}
