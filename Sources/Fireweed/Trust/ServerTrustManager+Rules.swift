// A trust manager for connections without a session.

package import FireweedTransport

extension ServerTrustManager {
    /// The manager's rules in the form that a transport takes.
    package var transportRules: ServerTrustRules {
        ServerTrustRules(mayWait: mayWait(forHost:), decide: decide)
    }
}
