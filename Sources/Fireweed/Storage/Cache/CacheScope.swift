// The properties of a session that its stored responses depend on.

import FireweedTransport
import Foundation

/// A session's rules for trusting servers, and its client identities.
protocol CacheTrust: Sendable {
    /// The rules; `nil` when only the certificate authorities decide.
    var rules: ServerTrustRules? { get }
    /// Whether a delegate may supply client identities.
    var mayGiveIdentities: Bool { get }
    /// A text that identifies the rules for a host; `nil` when only the certificate authorities decide.
    func cachePartition(forHost host: String) -> String?
}

/// Where a session connects to, which servers it trusts, and how it identifies itself.
///
/// Sessions may share a store: a response must not answer a session that would have asked another server, that would
/// have refused the server, or that has another identity.
final class CacheScope: Sendable {
    /// The fields that identify the user of a request.
    let credentialFields: CredentialFields
    private let options: TransportOptions
    private let trust: (any CacheTrust)?
    /// Whether connections go to the origins of URLs: no socket path, no overrides, no routes.
    private let dialsOrigins: Bool
    /// Whether only the system's certificate authorities decide about servers.
    private let trustsSystem: Bool
    /// Whether messages may go through a proxy.
    private let mayHaveProxy: Bool
    /// A text that lists the refused addresses; `nil` when no address is refused.
    private let refusedAddresses: String?

    init(_ options: TransportOptions = TransportOptions(), _ trust: (any CacheTrust)? = nil) {
        credentialFields = CredentialFields(options.credentialFieldNames)
        self.options = options
        self.trust = trust
        dialsOrigins =
            options.unixSocketPath == nil && options.addressOverrides.isEmpty && options.connectionRoutes.isEmpty
        // The authorities are read here, since reading their file may block an event loop; requests use those that were
        // read last.
        if options.certificateAuthorities != .system { try? options.certificateAuthorities.prepare() }
        trustsSystem = trust?.rules == nil && options.certificateAuthorities.areOfMachine
        mayHaveProxy = options.mayHaveProxy
        refusedAddresses = options.addressGuard.cachePartition
    }

    /// The part of a stored response's key that comes from the session, for a URL, as text; `nil` for none.
    ///
    /// `host` is the message's `Host` field if it differs from the URL's host.
    func place(of url: URL, host: String?) -> String? {
        if host == nil, dialsOrigins, trustsSystem, !mayHaveProxy, refusedAddresses == nil { return nil }
        let name = CanonicalHost.text(of: url.host ?? "")
        var parts: [String] = []
        if let host { parts.append("host \(host)") }
        if !dialsOrigins, let detour = options.detour(fromHost: name, port: UInt16(clamping: url.effectivePort)) {
            parts.append("to \(detour)")
        }
        let isSecure = url.isSecure
        let rules = isSecure && !trustsSystem ? trust?.cachePartition(forHost: CanonicalHost.withoutZone(name)) : nil
        if let rules { parts.append("trust \(rules)") }
        if isSecure, let digest = options.certificateAuthorities.contentDigest {
            parts.append("authorities \(digest.base64EncodedString())")
        }
        // Over TLS without custom trust rules, the same server answers through every proxy. In clear text the proxy
        // decides which server answers, and custom trust rules may not check the server.
        if mayHaveProxy, !isSecure || rules != nil, let proxy = options.proxyText(for: url) {
            parts.append("proxy \(proxy)")
        }
        // A response from a refused address must not come from the store either.
        if let refusedAddresses { parts.append(refusedAddresses) }
        return parts.isEmpty ? nil : parts.joined(separator: "\n")
    }

    /// The client identity for a URL; `nil` for a URL in clear text, and where there is none.
    func clientIdentity(for url: URL) -> ClientIdentity? {
        guard trust?.mayGiveIdentities == true || options.clientIdentity != nil || !options.clientIdentities.isEmpty,
            url.isSecure, let host = url.host.map({ CanonicalHost.withoutZone(CanonicalHost.text(of: $0)) })
        else { return nil }
        return trust?.rules?.identity(host) ?? options.identity(forHost: host)
    }
}

extension AddressGuard {
    /// A text that lists the refused addresses; `nil` when no address is refused.
    fileprivate var cachePartition: String? {
        guard !refused.isEmpty else { return nil }
        let networks = [refused, exceptions].map { $0.map(\.description).sorted().joined(separator: " ") }
        return "addresses but \(networks[0]) save \(networks[1])"
    }
}

extension URL {
    fileprivate var isSecure: Bool { scheme?.isEqualIgnoringASCIICase("https") == true }
}
