// libcurl's transport in the conformance suite.

import FireweedTransport
import FixtureServer
import Foundation

/// `CurlTransport` over HTTP/1.1.
///
/// Connections have no limit: tests hold many responses at once.
struct CurlSubject: ConformanceSubject {
    let name = "libcurl, HTTP/1.1"

    func makeTransport() -> any Transport { CurlTransport(settings: PoolSettings(maximumConnectionsPerHost: 0)) }

    func url(of scenario: Scenario) throws -> String { try ConformanceServers.shared.url(of: scenario) }
}

/// `CurlTransport` through a Unix-domain socket.
struct CurlUnixSocketSubject: ConformanceSubject {
    let name = "libcurl, Unix-domain socket"

    private struct Server {
        let folder: TemporaryFolder
        let fixture: FixtureServer

        init() throws {
            folder = try TemporaryFolder()
            fixture = try FixtureServer.start(unixSocketPath: folder.file("socket").path)
            ConformanceServers.addRoutes(to: fixture)
        }
    }

    private static let server = Result { try Server() }

    func makeTransport() throws -> any Transport {
        var options = TransportOptions()
        options.unixSocketPath = try Self.server.get().folder.file("socket").path
        return CurlTransport(settings: PoolSettings(options: options, maximumConnectionsPerHost: 0))
    }

    func url(of scenario: Scenario) -> String { "http://localhost\(ConformanceServers.path(of: scenario) ?? "")" }

    func obstacle(to scenario: Scenario) -> String? {
        ConformanceServers.path(of: scenario) == nil ? "the fixture server alone listens on such a socket" : nil
    }
}

/// `CurlTransport` over HTTP/2 with TLS.
struct CurlHTTP2Subject: ConformanceSubject {
    let name = "libcurl, HTTP/2"

    /// nginx in front of the fixture server, and peers for what both do not do.
    private struct Servers {
        let authority: CertificateAuthority
        let gallery: CertificateGallery
        let nginx: NginxServer
        let peers: [Scenario: SecurePeer]
        let trusted: CertificateAuthorities

        init() throws {
            authority = try CertificateAuthority()
            gallery = try CertificateGallery.shared
            nginx = try NginxServer(
                certificate: authority.issue(), forwardingTo: try ConformanceServers.shared.fixture.url)
            let chain = [gallery.server, gallery.intermediate]
            peers = try CurlHTTP2Subject.acts.mapValues { try SecurePeer(chain, role: .http2($0)) }
            trusted = try .certificates(
                [Certificate(contentsOf: authority.certificate), Certificate(pem: gallery.root.pem)])
        }
    }

    private static let servers = Result { try Servers() }

    /// What the peers do, by the names that `PeerScript` has for it.
    private static let acts: [Scenario: String] = [
        .silent: "no answer", .headOnly: "head, no answer", .stalled: "head and content, no answer",
        .interim: "interim, answer", .trailers: "trailers, answer", .cutHead: "close",
    ]

    func makeTransport() throws -> any Transport {
        var options = TransportOptions()
        options.certificateAuthorities = try Self.servers.get().trusted
        return CurlTransport(settings: PoolSettings(options: options, maximumConnectionsPerHost: 0))
    }

    func url(of scenario: Scenario) throws -> String {
        let servers = try Self.servers.get()
        if let peer = servers.peers[scenario] { return peer.url().absoluteString }
        guard let path = ConformanceServers.path(of: scenario) else {
            return try ConformanceServers.shared.url(of: scenario).replacingOccurrences(of: "http:", with: "https:")
        }
        return (servers.nginx.secureURL?.absoluteString ?? "") + path
    }

    func obstacle(to scenario: Scenario) -> String? {
        switch scenario {
        case .closesOnReuse, .cutAnswer: "our peers for HTTP/2 do not close a connection at such a moment"
        case .earlyAnswer: "libcurl 7.88 loses an answer that RST_STREAM follows (RFC 9113 §8.1)"
        case .webSocket: "our WebSocket peer speaks HTTP/1.1 in clear text"
        default: nil
        }
    }
}
