// The engine's transport in the conformance suite.

import FireweedTransport
import FixtureServer
import Foundation

/// `EngineTransport` over HTTP/1.1 in clear text.
///
/// Connections have no limit: tests hold many responses at once.
struct EngineSubject: ConformanceSubject {
    let name = "engine, HTTP/1.1"

    func makeTransport() -> any Transport { EngineTransport(settings: PoolSettings(maximumConnectionsPerHost: 0)) }

    func url(of scenario: Scenario) throws -> String { try ConformanceServers.shared.url(of: scenario) }
}

/// `EngineTransport` through a Unix-domain socket.
struct EngineUnixSocketSubject: ConformanceSubject {
    let name = "engine, Unix-domain socket"

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
        return EngineTransport(settings: PoolSettings(options: options, maximumConnectionsPerHost: 0))
    }

    func url(of scenario: Scenario) -> String { "http://localhost\(ConformanceServers.path(of: scenario) ?? "")" }

    func obstacle(to scenario: Scenario) -> String? {
        ConformanceServers.path(of: scenario) == nil ? "the fixture server alone listens on such a socket" : nil
    }
}

/// `EngineTransport` over HTTP/1.1 with TLS.
struct EngineTLSSubject: ConformanceSubject {
    let name = "engine, HTTP/1.1 with TLS"

    /// TLS in front of the servers in clear text.
    private struct Servers {
        let relay: SecureRelay
        let trusted: CertificateAuthorities

        init() throws {
            let testCertificates = try TestCertificates.shared
            let servers = try ConformanceServers.shared
            let ports = Scenario.allCases.filter { $0 != .refused }
                .compactMap { URL(string: servers.url(of: $0))?.port }.map { UInt16($0) }
            relay = try SecureRelay([testCertificates.server, testCertificates.intermediate], to: Array(Set(ports)))
            trusted = .certificates([try Certificate(pem: testCertificates.root.pem)])
        }
    }

    private static let servers = Result { try Servers() }

    func makeTransport() throws -> any Transport {
        var options = TransportOptions()
        options.certificateAuthorities = try Self.servers.get().trusted
        return EngineTransport(settings: PoolSettings(options: options, maximumConnectionsPerHost: 0))
    }

    func url(of scenario: Scenario) throws -> String {
        let plain = try ConformanceServers.shared.url(of: scenario)
        guard scenario != .refused, let url = URL(string: plain) else {
            return plain.replacingOccurrences(of: "http:", with: "https:")
        }
        return try Self.servers.get().relay.url(for: url).absoluteString
    }
}

/// `EngineTransport` over HTTP/2: with TLS, or in clear text by prior knowledge.
struct EngineHTTP2Subject: ConformanceSubject {
    let isSecure: Bool

    var name: String { isSecure ? "engine, HTTP/2 with TLS" : "engine, HTTP/2 in clear text" }

    /// nginx in front of the fixture server, and peers for what both do not do.
    private struct Servers {
        let nginx: NginxServer
        let peers: [Scenario: SecurePeer]
        let trusted: CertificateAuthorities

        init(isSecure: Bool) throws {
            let authority = try CertificateAuthority()
            let testCertificates = try TestCertificates.shared
            let origin = try ConformanceServers.shared.fixture.url
            nginx = try NginxServer(
                certificate: isSecure ? authority.issue() : nil, speaksPlainHTTP2: !isSecure, forwardingTo: origin)
            let chain = [testCertificates.server, testCertificates.intermediate]
            peers = try EngineHTTP2Subject.acts.mapValues {
                try isSecure ? SecurePeer(chain, role: .http2($0)) : SecurePeer(plainHTTP2: $0)
            }
            trusted = try .certificates(
                [Certificate(contentsOf: authority.certificate), Certificate(pem: testCertificates.root.pem)])
        }
    }

    private static let secure = Result { try Servers(isSecure: true) }
    private static let plain = Result { try Servers(isSecure: false) }

    private var servers: Servers { get throws { try (isSecure ? Self.secure : Self.plain).get() } }

    /// What the peers do, by the names that `PeerScript` has for it.
    private static let acts: [Scenario: String] = [
        .silent: "no answer", .headOnly: "head, no answer", .stalled: "head and content, no answer",
        .interim: "interim, answer", .trailers: "trailers, answer", .cutHead: "close", .cutAnswer: "content, close",
        .earlyAnswer: "early, answer", .closesOnReuse: "close on the second, else answer",
    ]

    func makeTransport() throws -> any Transport {
        var options = TransportOptions()
        options.httpVersion = isSecure ? .automatic : .http2
        options.certificateAuthorities = try servers.trusted
        return EngineTransport(settings: PoolSettings(options: options, maximumConnectionsPerHost: 0))
    }

    func url(of scenario: Scenario) throws -> String {
        let servers = try servers
        if let peer = servers.peers[scenario] { return peer.url().absoluteString }
        guard let path = ConformanceServers.path(of: scenario) else {
            let url = try ConformanceServers.shared.url(of: scenario)
            return isSecure ? url.replacingOccurrences(of: "http:", with: "https:") : url
        }
        let url = isSecure ? servers.nginx.secureURL : servers.nginx.plainHTTP2URL
        return (url?.absoluteString ?? "") + path
    }

    func obstacle(to scenario: Scenario) -> String? {
        isSecure && scenario == .webSocket ? "our WebSocket peer speaks in clear text" : nil
    }
}
