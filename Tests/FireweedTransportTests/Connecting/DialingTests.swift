import FixtureServer
import Foundation
import Glibc
import Synchronization
import Testing

@testable import FireweedTransport

@Suite("Making connections", .timeLimit(.minutes(TestTimeouts.minutes)))
struct DialingTests {
    /// A server on 127.0.0.1, and an address that answers nothing on the same port.
    private func race() throws -> (server: ScriptedServer, hole: BlackHole, url: URL) {
        for _ in 0..<20 {
            let server = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
            guard let hole = BlackHole(address: "127.0.0.2", port: server.port) else { continue }
            return (server, hole, try #require(URL(string: "http://race.test:\(server.port)/")))
        }
        throw POSIXError(.EADDRINUSE)
    }

    @Test("an address that answers nothing does not keep the next one waiting")
    func blackHole() async throws {
        let (server, hole, url) = try race()
        try await EngineStage.play({ $0.addressOverrides = ["race.test": ["127.0.0.2", "127.0.0.1"]] }) { stage in
            let transfer = try await stage.end(url)
            let report = try #require(transfer.record.end?.report)
            #expect(report.remoteEndpoint?.address == "127.0.0.1" && transfer.code == nil)
            #expect(report.connect >= 250_000 && report.nameLookup < report.connect)
        }
        withExtendedLifetime((server, hole)) {}
    }

    @Test("an address that refuses is followed by the next one at once")
    func refusal() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        let url = try #require(URL(string: "http://race.test:\(server.port)/"))
        try await EngineStage.play({ $0.addressOverrides = ["race.test": ["::1", "127.0.0.3", "127.0.0.1"]] }) {
            stage in
            let transfer = try await stage.end(url)
            #expect(transfer.record.end?.report.remoteEndpoint?.address == "127.0.0.1")
        }
    }

    @Test("the time for making a connection covers all addresses, and the error names them")
    func timeout() async throws {
        let (server, hole, url) = try race()
        try await EngineStage.play({ options in
            options.addressOverrides = ["race.test": ["127.0.0.2"]]
            options.connectTimeout = .milliseconds(50)
        }) { stage in
            let transfer = try await stage.end(url)
            #expect(transfer.code == .timedOut)
            #expect(transfer.failureText.contains("127.0.0.2"))
        }
        withExtendedLifetime((server, hole)) {}
    }

    @Test("the time for making a connection covers a look-up that hangs, and those that wait behind it for a thread")
    func silentNames() async throws {
        let service = SilentNameService()
        defer { service.answer() }
        var parts = EngineParts()
        parts.resolver = NameResolver(threadLimit: 2, lookUp: service.lookUp)
        try await EngineStage.play(parts: parts, { $0.connectTimeout = .milliseconds(50) }) { stage in
            let transfers = try (0..<20).map { number in
                stage.transfer(try #require(URL(string: "http://\(number).silent.test/")))
            }
            for transfer in transfers { transfer.start() }
            for transfer in transfers { #expect(try await transfer.end().code == .timedOut) }
        }
        #expect(service.largestCount <= 2)
    }

    @Test("an idle time-out ends an exchange whose connection is being made")
    func idle() async throws {
        let (server, hole, url) = try race()
        try await EngineStage.play({ $0.addressOverrides = ["race.test": ["127.0.0.2"]] }) { stage in
            let transfer = try await stage.end(url) { $0.idleTimeout = 0.05 }
            #expect(transfer.code == .timedOut)
        }
        withExtendedLifetime((server, hole)) {}
    }

    @Test("the address guard judges every address, and an allowed one is used")
    func addressGuard() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        let url = try #require(URL(string: "http://race.test:\(server.port)/"))
        let network = try #require(IPNetwork("127.0.0.2"))
        for (addresses, isAllowed) in [(["127.0.0.2"], false), (["127.0.0.2", "127.0.0.1"], true)] {
            try await EngineStage.play({ options in
                options.addressOverrides = ["race.test": addresses]
                options.addressGuard = AddressGuard(refusing: [network])
            }) { stage in
                let transfer = try await stage.end(url)
                #expect(transfer.code == (isAllowed ? nil : .resourceUnavailable))
            }
        }
    }

    @Test(
        "a name without an address, and one that only Tor has, cannot be found", arguments: ["none.invalid", "a.onion"])
    func unknown(host: String) async throws {
        try await EngineStage.play { stage in
            let transfer = try await stage.end(try #require(URL(string: "http://\(host)/")))
            #expect(transfer.code == .cannotFindHost || host == "none.invalid" && transfer.code != nil)
            #expect(transfer.failureText.contains(host))
        }
    }

    @Test("localhost needs no name service (RFC 6761 §6.3)")
    func localhost() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        try await EngineStage.play { stage in
            let url = try #require(URL(string: "http://localhost:\(server.port)/"))
            let transfer = try await stage.end(url)
            #expect(transfer.code == nil)
        }
    }

    @Test("a path that is too long, or has no listener, is named in the error")
    func paths() async throws {
        let folder = try TemporaryFolder()
        for path in [folder.file("nobody").path, "/" + String(repeating: "x", count: 107)] {
            try await EngineStage.play({ $0.unixSocketPath = path }) { stage in
                let transfer = try await stage.end(try #require(URL(string: "http://a.test/")))
                #expect(transfer.code == .cannotConnectToHost)
                #expect(transfer.failureText.contains(path))
            }
        }
    }

    @Test("a NUL in the path of a socket or the name of an interface is an error, and cuts neither")
    func namesWithNUL() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        let folder = try TemporaryFolder()
        let fixture = try FixtureServer.start(unixSocketPath: folder.file("socket").path)
        let options: [(inout TransportOptions) -> Void] = [
            { $0.unixSocketPath = folder.file("socket").path + "\0.other" }, { $0.networkInterface = "lo\0other" },
        ]
        for change in options {
            try await EngineStage.play(change) { stage in
                let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
                #expect(try await stage.end(url).code != nil)
            }
        }
        #expect(fixture.requests.isEmpty)
    }

    @Test("a version of IP, a route and an interface are followed")
    func options() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        let url = try #require(URL(string: "http://race.test:\(server.port)/"))
        typealias Row = (change: (inout TransportOptions) -> Void, code: URLError.Code?)
        let rows: [Row] = [
            ({ $0.ipVersion = .v4 }, nil), ({ $0.ipVersion = .v6 }, .cannotFindHost),
            ({ $0.connectionRoutes = [ConnectionRoute(host: "RACE.test", targetHost: "127.0.0.1")] }, nil),
            ({ $0.connectionRoutes = [ConnectionRoute(host: "race.test", targetPort: 1)] }, .cannotConnectToHost),
            ({ $0.networkInterface = "127.0.0.5" }, nil), ({ $0.networkInterface = "host!127.0.0.6" }, nil),
            ({ $0.networkInterface = "if!none" }, .cannotConnectToHost),
            ({ $0.proxy = Proxy(host: "127.0.0.1", port: 1) }, .cannotConnectToHost),
        ]
        for (index, row) in rows.enumerated() {
            try await EngineStage.play({ options in
                options.addressOverrides = ["race.test": ["127.0.0.1"]]
                row.change(&options)
            }) { stage in
                let transfer = try await stage.end(url)
                #expect(transfer.code == row.code, "row \(index): \(transfer.failureText)")
                let local = transfer.record.end?.report.localEndpoint?.address
                if index == 4 { #expect(local == "127.0.0.5") }
                if index == 5 { #expect(local == "127.0.0.6") }
            }
        }
    }

    /// Fails as socket(2) does in a process without a descriptor left, at the calls that are told; they count from 1.
    private func parts(failing calls: ClosedRange<Int>) -> EngineParts {
        let count = Mutex(0)
        var parts = EngineParts()
        parts.openSocket = { family, type in
            let call = count.withLock { count in
                count += 1
                return count
            }
            guard !calls.contains(call) else {
                errno = EMFILE
                return -1
            }
            return socket(family, type, 0)
        }
        // Other tests of this process have idle connections of their own.
        parts.freeDescriptors = { _ in false }
        return parts
    }

    @Test("a process out of descriptors has every pool close its idle connections, once, and then tries again")
    func exhaustedElsewhere() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        for (calls, code) in [(1...1, nil), (1...9, URLError.Code.cannotLoadFromNetwork)] {
            let asked = EventLog<Int>()
            var parts = parts(failing: calls)
            parts.freeDescriptors = { done in
                asked.note(1)
                done()
                return true
            }
            try await EngineStage.play(parts: parts) { stage in
                let transfer = try await stage.end(server.url())
                #expect(transfer.code == code, "\(transfer.failureText)")
                #expect(asked.events.count == 1)
            }
        }
    }

    @Test("a process out of descriptors closes the connection that was idle longest, and tries once more")
    func exhausted() async throws {
        let exchange: [ScriptedServer.Action] = [.receiveHead, .send(Answer.small)]
        let servers = try (0..<3).map { _ in try ScriptedServer.start(exchange + exchange + [.hold]) }
        try await EngineStage.play(parts: parts(failing: 3...3)) { stage in
            for server in servers {
                let transfer = try await stage.end(server.url())
                #expect(transfer.code == nil)
            }
            try await servers[0].events.next(.closedByPeer(0))
            let kept = try await stage.end(servers[1].url())
            #expect(kept.record.end?.report.isReusedConnection == true)
        }
    }

    @Test("a process out of descriptors waits for a connection to the same host that becomes free")
    func exhaustedBeside() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .wait(for: "go"), .send(Answer.small), .receiveHead, .send(Answer.small), .hold])
        try await EngineStage.play(parts: parts(failing: 2...9_999)) { stage in
            let first = stage.transfer(server.url("/first"))
            first.start()
            _ = try await server.events.first { if case .head = $0 { true } else { false } }
            let second = stage.transfer(server.url("/second"))
            second.start()
            // The loop has taken the second one up when a third has been refused.
            let third = stage.transfer(URL(filePath: "/x"))
            third.start()
            try await third.end()
            server.signal("go")
            #expect(try await first.end().failure == nil)
            #expect(try await second.end().failure == nil, "\(second.failureText)")
        }
    }

    @Test("descriptors that are free again are used, although no connection becomes free")
    func briefExhaustion() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .hold], [.receiveHead, .send(Answer.small), .receiveHead, .send(Answer.small), .hold])
        try await EngineStage.play(parts: parts(failing: 2...2)) { stage in
            let stream = stage.transfer(server.url("/stream"))
            stream.start()
            _ = try await server.events.first { if case .head = $0 { true } else { false } }
            #expect(try await stage.end(server.url("/second")).code == nil)
            #expect(try await stage.end(server.url("/third")).code == nil)
            stream.cancel()
            _ = try await stream.end()
        }
    }

    @Test("an address that refuses does not hide that another one lacked a descriptor")
    func exhaustedForOneAddress() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        let isFirst = Mutex(true)
        var parts = EngineParts()
        parts.openSocket = { family, type in
            let fails = isFirst.withLock { isFirst in
                defer { if family == AF_INET { isFirst = false } }
                return isFirst && family == AF_INET
            }
            guard !fails else {
                errno = EMFILE
                return -1
            }
            return socket(family, type, 0)
        }
        parts.freeDescriptors = { done in
            done()
            return true
        }
        try await EngineStage.play(parts: parts, { $0.addressOverrides = ["two.example": ["127.0.0.1", "::1"]] }) {
            stage in
            let url = try #require(URL(string: "http://two.example:\(server.port)/"))
            let transfer = try await stage.end(url)
            #expect(transfer.code == nil, "\(transfer.failureText)")
        }
    }

    @Test("the last descriptors are not for sockets")
    func reserve() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        for distance in [1, 2, 16, 17] {
            let descriptor = Descriptors.makeSocket {
                fcntl(0, F_DUPFD_CLOEXEC, Int32(clamping: limit.rlim_cur) - Int32(distance))
            }
            #expect((descriptor < 0 && errno == EMFILE) == (distance <= 16))
            if descriptor >= 0 { close(descriptor) }
        }
    }

    @Test("without an idle connection the error names what is missing, and the next request works")
    func exhaustedAlone() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Answer.small), .hold])
        try await EngineStage.play(parts: parts(failing: 1...1)) { stage in
            let first = try await stage.end(server.url())
            #expect(first.code == .cannotLoadFromNetwork)
            #expect(first.failureText.contains(String(cString: strerror(EMFILE))))
            let second = try await stage.end(server.url())
            #expect(second.code == nil)
        }
    }
}

/// A port that takes no further connections: its line is full.
private final class BlackHole: Sendable {
    private let descriptors: [Int32]

    init?(address: String, port: UInt16) {
        guard let host = IPAddress(address) else { return nil }
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let place = SocketAddress.internet(host, port: port)
        guard place.withSocketAddress({ bind(listener, $0, $1) }) == 0, listen(listener, 0) == 0 else {
            close(listener)
            return nil
        }
        let clients = (0..<4).map { _ in
            let client = socket(
                AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
            _ = place.withSocketAddress { connect(client, $0, $1) }
            return client
        }
        descriptors = clients + [listener]
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
