// The servers of the benchmarks, in the runner's process or beside it.

import CBareLoop
import FixtureServer
import Foundation

/// The servers of all scenarios.
struct BenchServers {
    private let authority: CertificateAuthority
    private let nginx: NginxServer
    private let twoWorkers: NginxServer
    private let twoWorkersOnOneCore: NginxServer
    private let sink: FixtureServer
    private let echo: WebSocketPeer
    private let slowPort: Int32
    private let body: URL
    /// An nginx that demands client certificates.
    private let demanding: NginxServer
    private let client: CertificateAuthority.Issued

    init() throws {
        authority = try CertificateAuthority()
        nginx = try NginxServer(certificate: authority.issue())
        demanding = try NginxServer(certificate: authority.issue(), clientAuthority: authority)
        client = try authority.issue(purpose: "clientAuth", rsaBitCount: 4096)
        twoWorkers = try NginxServer(workers: 2)
        twoWorkersOnOneCore = try NginxServer(workers: 2, core: Int(fw_first_core()))
        sink = try FixtureServer.start()
        echo = try WebSocketPeer { connection in
            while true {
                let frame = try connection.receive()
                try connection.send(frame)
                if frame.opcode == 8 { return }
            }
        }
        slowPort = fw_slow_server(5_000)
        body = nginx.documents.appendingPathComponent("1g")
        try Self.makeBody(body)
        try Self.packedContent().write(to: nginx.documents.appendingPathComponent("packed"))
    }

    /// Returns the URLs of a `NeighbourRound`: the server in clear text, the server with client certificates, the slow
    /// server.
    func neighbourURLs() throws -> [URL] {
        guard let secure = demanding.secureURL, let slow = URL(string: "http://127.0.0.1:\(slowPort)"), slowPort > 0
        else {
            throw RoundError(text: "no server for neighbours")
        }
        return [nginx.url, secure, slow]
    }

    /// Returns the URL of a scenario's server for a client.
    func url(for scenario: Scenario, _ client: Client) throws -> URL {
        let url: URL? =
            switch scenario.server {
            case .nginx: nginx.url
            case .secureNginx: nginx.secureURL
            case .twoWorkers: client == .oneCore ? twoWorkersOnOneCore.url : twoWorkers.url
            case .sink: sink.url
            case .echo: echo.url
            case .slow: slowPort > 0 ? URL(string: "http://127.0.0.1:\(slowPort)") : nil
            }
        guard let url else { throw RoundError(text: "no server for \(scenario.name)") }
        return url
    }

    /// The environment variables of a round's process.
    var environment: [String: String] {
        [
            UploadRound.fileVariable: body.path, Round.authorityVariable: authority.certificate.path,
            NeighbourRound.certificateVariable: client.certificate.path, NeighbourRound.keyVariable: client.key.path,
        ]
    }

    /// Returns 100 MiB of generated content after gzip, which makes it about 30 times smaller.
    private static func packedContent() throws -> Data {
        var plain = Data(capacity: 100 << 20)
        while plain.count < 100 << 20 {
            let piece = Data((0..<64).map { _ in UInt8.random(in: 0...255) })
            for _ in 0..<40 { plain += piece }
        }
        guard let packed = CodingEndpoints.gzip(plain) else { throw RoundError(text: "gzip failed") }
        return packed
    }

    /// Makes a sparse file of 1 GiB of zeros.
    private static func makeBody(_ file: URL) throws {
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 1 << 30)
        try handle.close()
    }
}
