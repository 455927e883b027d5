// The peers of the conformance suite's transports.

import FixtureServer
import Foundation
import Glibc
import Synchronization

/// Servers in clear text that the suite's tests share.
final class ConformanceServers: Sendable {
    static var shared: ConformanceServers { get throws { try made.get() } }
    private static let made = Result { try ConformanceServers(FixtureServer.start()) }

    let fixture: FixtureServer
    private let scripted: [Scenario: ScriptedServer]
    private let webSockets: WebSocketPeer
    private let deafPort: DeafPort

    private init(_ fixture: FixtureServer) throws {
        self.fixture = fixture
        Self.addRoutes(to: fixture)
        scripted = try Self.scripts.mapValues { try ScriptedServer.start($0) }
        webSockets = try WebSocketPeer { peer in
            while try peer.receive().opcode != 8 {}
            try peer.send(WebSocketPeer.Frame(8, [0x03, 0xE8]))
        }
        deafPort = try DeafPort()
    }

    /// The path of the fixture server that plays a scenario, if one does.
    static func path(of scenario: Scenario) -> String? {
        switch scenario {
        case .silent, .headOnly, .stalled, .interim, .cutHead, .cutAnswer, .refused, .earlyAnswer, .trailers,
            .closesOnReuse, .webSocket:
            nil
        case .reuse: "/conformance/small"
        case .unauthorized: "/basic-auth/user/secret"
        default: "/conformance/\(scenario.rawValue)"
        }
    }

    /// The URL of a scenario over HTTP/1.1.
    func url(of scenario: Scenario) -> String {
        if let path = Self.path(of: scenario) { return fixture.url(path).absoluteString }
        switch scenario {
        case .refused: return "http://127.0.0.1:\(deafPort.port)/"
        case .webSocket: return webSockets.url.absoluteString.replacingOccurrences(of: "ws:", with: "http:")
        default: return scripted[scenario]?.url().absoluteString ?? ""
        }
    }

    /// What the fixture server does not do.
    private static let scripts: [Scenario: [ScriptedServer.Action]] = {
        let small = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
        let longer = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
        return [
            .silent: [.receiveHead, .hold], .headOnly: [.receiveHead, .send(longer), .hold],
            .stalled: [.receiveHead, .send(longer + "hello"), .hold],
            .interim: [
                .receiveHead, .send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"),
                .send(small), .hold,
            ],
            .cutHead: [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"), .close],
            .cutAnswer: [.receiveHead, .receive(byteCount: ScenarioContent.small.count), .close],
            .earlyAnswer: [
                .receiveHead,
                .send("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"), .hold,
            ],
            .trailers: [
                .receiveHead,
                .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Checksum\r\n\r\n"),
                .send("5\r\nhello\r\n0\r\nChecksum: 42\r\n\r\n"), .hold,
            ],
            .closesOnReuse: [.receiveHead, .receiveContent, .send(small), .receiveHead, .close],
        ]
    }()
}

extension ConformanceServers {
    /// Adds the scenarios that a correct server plays.
    static func addRoutes(to server: FixtureServer) {
        func route(_ scenario: Scenario, _ handler: @escaping FixtureServer.Handler) {
            server.route(path(of: scenario) ?? "", handler)
        }
        let small = FixtureResponse(body: .data(ScenarioContent.small))
        route(.small) { _ in small }
        route(.medium) { _ in FixtureResponse(body: .data(ScenarioContent.medium)) }
        route(.large) { _ in FixtureResponse(body: .data(ScenarioContent.large)) }
        route(.slow) { _ in slow }
        route(.endless) { _ in FixtureResponse(body: .pieces(byteCount: nil) { _ in .bytes(ScenarioContent.medium) }) }
        route(.noContent) { _ in FixtureResponse(status: 204) }
        route(.cut) { _ in
            FixtureResponse(body: .pieces(byteCount: 1000) { $0 == 0 ? .bytes(ScenarioContent.small) : .end })
        }
        route(.gzip) { _ in
            let coded = CodingEndpoints.gzip(ScenarioContent.medium) ?? Data()
            return FixtureResponse(fields: [("Content-Encoding", "gzip")], body: .data(coded))
        }
        route(.upload) { .text("\($0.bodyByteCount)") }
        route(.redirect) { _ in
            FixtureResponse(status: 302, fields: [("Location", "/get")], body: .data(ScenarioContent.small))
        }
        route(.fields) { request in
            .text(request.fields.map { "\($0.name.lowercased()): \($0.value)\n" }.joined())
        }
    }

    private static let slow = FixtureResponse(
        body: .pieces(byteCount: nil) { number in
            let index = number / 2
            guard index < ScenarioContent.slow.count else { return .end }
            return number % 2 == 0 ? .bytes(ScenarioContent.slow[index...index]) : .wait(0.002)
        })
}

/// A loopback port that is taken, and on which no server listens.
private final class DeafPort: Sendable {
    let port: UInt16
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isBound = withUnsafeMutableBytes(of: &address) { bytes in
            guard let pointer = bytes.bindMemory(to: sockaddr.self).baseAddress else { return false }
            return bind(descriptor, pointer, length) == 0 && getsockname(descriptor, pointer, &length) == 0
        }
        port = UInt16(bigEndian: address.sin_port)
        guard isBound else { throw POSIXError(.EADDRINUSE) }
    }

    deinit { close(descriptor) }
}
