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
            let gallery = try CertificateGallery.shared
            let servers = try ConformanceServers.shared
            let ports = Scenario.allCases.filter { $0 != .refused }
                .compactMap { URL(string: servers.url(of: $0))?.port }.map { UInt16($0) }
            relay = try SecureRelay([gallery.server, gallery.intermediate], to: Array(Set(ports)))
            trusted = .certificates([try Certificate(pem: gallery.root.pem)])
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
