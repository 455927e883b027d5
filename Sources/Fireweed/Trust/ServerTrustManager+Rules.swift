// A trust manager for connections without a session.

package import FireweedTransport

extension ServerTrustManager {
    /// The manager's rules as a transport asks for them.
    package var transportRules: ServerTrustRules {
        ServerTrustRules(mayWait: mayWait(forHost:), decide: decide)
    }
}
