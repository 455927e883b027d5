import FireweedTransport
import FixtureServer
import Foundation
import Glibc
import Synchronization
import Testing

@testable import Fireweed

@Suite("Strict transport security", .timeLimit(.minutes(TestTimeouts.minutes)))
struct StrictTransportSecurityTests {
    @Test(
        "the field is read as RFC 6797 §6.1 writes it",
        arguments: [
            ("max-age=31536000", 31_536_000, false),
            ("max-age=15768000 ; includeSubDomains", 15_768_000, true),
            ("max-age=\"31536000\"", 31_536_000, false),
            ("max-age=0", 0, false),
            ("max-age=0; includeSubDomains", 0, true),
            ("MAX-AGE=1;INCLUDESUBDOMAINS", 1, true),
            ("includeSubDomains;max-age=5;preload;own=\"a;b\"", 5, true),
            (";;max-age=5;;", 5, false),
            ("max-age=99999999999999999999999", .max, false),
        ])
    func field(text: String, maxAge: Int, includesSubdomains: Bool) {
        let field = StrictTransportField(text)
        #expect(field?.maxAge == maxAge && field?.includesSubdomains == includesSubdomains)
    }

    @Test(
        "what breaks the grammar is ignored as a whole",
        arguments: [
            "", "includeSubDomains", "max-age", "max-age=", "max-age=x", "max-age=-1", "max-age=1; max-age=2",
            "max-age=1; includeSubDomains=1", "max-age=1; b ad", "max age=1", "max-age=1.5", "=1",
        ])
    func malformed(text: String) {
        #expect(StrictTransportField(text) == nil)
    }

    @Test("a host, the names below it, the end of its time")
    func hosts() {
        let ticking = TickingClock()
        let store = StrictTransportSecurity(file: nil, maximumHostCount: 3, now: { ticking.now })
        store.add("Example.com.", lifetime: 100, includesSubdomains: true)
        store.add("plain.org", lifetime: 100)
        #expect(
            store.applies(to: "example.com") && store.applies(to: "A.B.EXAMPLE.com") && store.applies(to: "plain.org"))
        #expect(
            !store.applies(to: "www.plain.org") && !store.applies(to: "badexample.com") && !store.applies(to: "com"))
        store.add("127.0.0.1", lifetime: 100)
        store.add("::1", lifetime: 100)
        #expect(!store.applies(to: "127.0.0.1") && store.hosts.map(\.name) == ["example.com", "plain.org"])
        ticking.advance(by: 99)
        #expect(store.applies(to: "example.com"))
        ticking.advance(by: 2)
        #expect(!store.applies(to: "example.com") && store.hosts.isEmpty)
        for number in 0..<5 { store.add("host\(number).test", lifetime: Double(100 + number)) }
        #expect(store.hosts.map(\.name) == ["host2.test", "host3.test", "host4.test"])
        store.add("host3.test", lifetime: 0)
        #expect(store.hosts.count == 2)
    }

    @Test("a host is known by every spelling of its name, and an address by none")
    func spellings() {
        let store = StrictTransportSecurity()
        store.add("Bücher.test.", lifetime: 100, includesSubdomains: true)
        for host in ["bücher.test", "xn--bcher-kva.test.", "a.BÜCHER.test"] {
            #expect(store.applies(to: host), "\(host)")
        }
        for address in ["0x7f.1", "[::1]", "fe80::1%eth0"] { store.add(address, lifetime: 100) }
        #expect(store.hosts.map(\.name) == ["xn--bcher-kva.test"])
    }

    @Test(
        "URLs become https, and port 80 becomes 443 (RFC 6797 §8.3)",
        arguments: [
            ("http://example.com/a?b#c", "https://example.com/a?b#c"),
            ("http://example.com:80/", "https://example.com:443/"),
            ("http://example.com:8080/", "https://example.com:8080/"), ("HTTP://EXAMPLE.com/", "https://EXAMPLE.com/"),
            ("https://example.com/", "https://example.com/"), ("http://other.com/", "http://other.com/"),
        ])
    func urls(from: String, to: String) throws {
        let store = StrictTransportSecurity()
        store.add("example.com", lifetime: 100)
        #expect(store.secured(try #require(URL(string: from))).absoluteString == to)
    }

    @Test("the file keeps what was learnt, for this user alone")
    func file() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("hosts.json")
        let store = StrictTransportSecurity(file: file)
        store.add("example.com", lifetime: 100, includesSubdomains: true)
        store.waitUntilSaved()
        #expect(StrictTransportSecurity(file: file).hosts == store.hosts)
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber
        #expect(mode?.intValue == 0o600)
        try Data("broken".utf8).write(to: file)
        #expect(StrictTransportSecurity(file: file).hosts.isEmpty)
    }

    @Test("the file is written when a policy changes, and not each time that a server repeats it")
    func repetitions() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("hosts.json")
        let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
        let store = StrictTransportSecurity(file: file, maximumHostCount: 10, now: { time.withLock { $0 } })
        /// Whether the file was replaced.
        func writes(after seconds: TimeInterval, _ lifetime: TimeInterval, _ includes: Bool = false) -> Bool {
            time.withLock { $0 += seconds }
            var (before, after) = (stat(), stat())
            // An open file keeps its number from being given again.
            let descriptor = open(file.path, O_RDONLY | O_CLOEXEC)
            defer { if descriptor >= 0 { close(descriptor) } }
            stat(file.path, &before)
            store.add("a.test", lifetime: lifetime, includesSubdomains: includes)
            store.waitUntilSaved()
            stat(file.path, &after)
            return before.st_ino != after.st_ino
        }
        let year: TimeInterval = 365 * 86_400
        #expect(writes(after: 0, year))
        for _ in 0..<23 { #expect(!writes(after: 3600, year)) }
        // The policy in memory is the last one, and reaches the file when the difference is a day.
        #expect(store.hosts.first?.expiry == time.withLock { $0 } + year)
        #expect(writes(after: 3601, year))
        #expect(StrictTransportSecurity(file: file).hosts.isEmpty == false)
        #expect(writes(after: 0, year, true))
        #expect(!writes(after: 0, year, true))
        #expect(writes(after: 0, 1000, true))
        #expect(!writes(after: 49, 1000, true))
        #expect(writes(after: 2, 1000, true))
        #expect(writes(after: 0, 0))
        #expect(!writes(after: 0, 0))
        #expect(writes(after: 0, 1000))
    }

    @Test("a pipe or a folder in place of a file counts as empty, and stops nobody")
    func noFile() throws {
        let folder = try TemporaryFolder()
        #expect(mkfifo(folder.file("pipe").path, 0o600) == 0)
        for url in [folder.file("pipe"), folder.url] {
            let store = StrictTransportSecurity(file: url)
            #expect(store.hosts.isEmpty)
            store.add("a.test", lifetime: 60)
            #expect(store.applies(to: "a.test"))
            store.waitUntilSaved()
        }
    }

    @Test("stores of one file keep each other's hosts, and follow each other's removals")
    func sharedFile() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("hosts.json")
        let stores = (0..<4).map { _ in StrictTransportSecurity(file: file) }
        DispatchQueue.concurrentPerform(iterations: stores.count) { index in
            for number in 0..<25 { stores[index].add("host\(index)-\(number).test", lifetime: 1000) }
            stores[index].waitUntilSaved()
        }
        #expect(StrictTransportSecurity(file: file).hosts.count == 100)
        stores[0].add("host1-0.test", lifetime: 0)
        stores[0].waitUntilSaved()
        stores[1].add("another.test", lifetime: 1000)
        stores[1].waitUntilSaved()
        let names = StrictTransportSecurity(file: file).hosts.map(\.name)
        #expect(names.count == 100 && !names.contains("host1-0.test") && names.contains("another.test"))
        #expect(stores[1].hosts.map(\.name) == names && !stores[1].applies(to: "host1-0.test"))
        stores[2].removeAll()
        stores[2].waitUntilSaved()
        stores[3].add("last.test", lifetime: 1000)
        stores[3].waitUntilSaved()
        #expect(StrictTransportSecurity(file: file).hosts.map(\.name) == ["last.test"])
    }

    @Test("a file that another program has damaged removes no host from memory, and is written anew")
    func damagedFile() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("hosts.json")
        let store = StrictTransportSecurity(file: file)
        store.add("a.test", lifetime: 1000)
        store.waitUntilSaved()
        try Data("broken".utf8).write(to: file)
        store.add("b.test", lifetime: 1000)
        store.waitUntilSaved()
        #expect(StrictTransportSecurity(file: file).hosts.map(\.name) == ["a.test", "b.test"])
    }

    @Test("a server whose certificate was not checked sets no policy, and removes none (RFC 6797 §8.1)")
    func unchecked() async throws {
        let testCertificates = try TestCertificates.shared
        let answer = "HTTP/1.1 200 OK\r\nStrict-Transport-Security: max-age=1000\r\nContent-Length: 2\r\n\r\nok"
        let peer = try SecurePeer([testCertificates.server, testCertificates.intermediate], role: .answering(answer))
        for evaluator: any ServerTrustEvaluating in [
            DisabledTrustEvaluator(), CompositeTrustEvaluator(evaluators: [DisabledTrustEvaluator()]),
        ] {
            let store = StrictTransportSecurity()
            let session = Session(
                configuration: .af.ephemeral,
                serverTrustManager: ServerTrustManager(patterns: [try HostPattern("**.localhost"): evaluator]),
                options: SessionOptions(strictTransportSecurity: store))
            let response = await session.request("https://a.localhost:\(peer.port)/").serializingData().response
            #expect(response.error == nil && store.hosts.isEmpty, "\(response)")
        }
    }

    @Test("a server that a delegate accepted by itself sets no policy; one that it left to the session does")
    func acceptedByDelegate() async throws {
        let testCertificates = try TestCertificates.shared
        let answer = "HTTP/1.1 200 OK\r\nStrict-Transport-Security: max-age=1000\r\nContent-Length: 2\r\n\r\nok"
        let peer = try SecurePeer([testCertificates.server, testCertificates.intermediate], role: .answering(answer))
        let pinned = PublicKeysTrustEvaluator(
            keys: [try Certificate(contentsOf: testCertificates.server.certificate).publicKey],
            performDefaultValidation: false, validateHost: false)
        for accepts in [true, false] {
            let store = StrictTransportSecurity()
            let session = Session(
                configuration: .af.ephemeral, delegate: AcceptingDelegate(accepts),
                serverTrustManager: ServerTrustManager(patterns: [try HostPattern("**.localhost"): pinned]),
                options: SessionOptions(strictTransportSecurity: store))
            let response = await session.request("https://a.localhost:\(peer.port)/").serializingData().response
            #expect(response.error == nil && store.hosts.isEmpty == accepts, "\(accepts) \(response)")
        }
    }

    @Test("a host that asked for it is reached over TLS from then on, by requests and redirects; clear text cannot ask")
    func wire() async throws {
        let testCertificates = try TestCertificates.shared
        let field = "Strict-Transport-Security: max-age=1000; includeSubDomains\r\n"
        let answer = "HTTP/1.1 200 OK\r\n\(field)Content-Length: 2\r\n\r\nok"
        let peer = try SecurePeer([testCertificates.server, testCertificates.intermediate], role: .answering(answer))
        let store = StrictTransportSecurity()
        let pinned = PublicKeysTrustEvaluator(
            keys: [try Certificate(contentsOf: testCertificates.server.certificate).publicKey],
            performDefaultValidation: false, validateHost: false)
        let session = Session(
            configuration: .af.ephemeral,
            serverTrustManager: ServerTrustManager(patterns: [try HostPattern("**.localhost"): pinned]),
            options: SessionOptions(strictTransportSecurity: store))
        let plain = try ScriptedServer.start([.receiveHead, .send(answer), .close])
        let clear = await session.request("http://a.localhost:\(plain.port)/").serializingData().response
        #expect(clear.error == nil && store.hosts.isEmpty)
        #expect(await session.request("https://a.localhost:\(peer.port)/").serializingData().response.error == nil)
        #expect(store.hosts.map(\.name) == ["a.localhost"])
        let request = session.request("http://x.a.localhost:\(peer.port)/path")
        let response = await request.serializingData().response
        #expect(response.error == nil && response.response?.url?.scheme == "https", "\(response)")
        let redirecting = try FixtureServer.start()
        let target = "http://a.localhost:\(peer.port)/redirected"
        let redirected = await session.request(redirecting.url("/redirect-to?url=\(target)")).serializingData().response
        #expect(redirected.error == nil && redirected.response?.url?.scheme == "https", "\(redirected)")
        try await peer.events.first { $0.hasSuffix("GET /redirected HTTP/1.1") }
        // Sessions without a store know nothing of it.
        let ignorant = Session.isolated()
        defer { withExtendedLifetime(ignorant) {} }
        let other = await ignorant.request("http://a.localhost:\(plain.port)/").serializingData().response
        #expect(other.error == nil)
    }
}

/// A clock that the test advances.
private final class TickingClock: Sendable {
    private let time = Mutex(Date(timeIntervalSince1970: 1_000_000))

    var now: Date { time.withLock { $0 } }
    func advance(by seconds: TimeInterval) { time.withLock { $0 += seconds } }
}

/// Accepts every server, or leaves servers to the session.
private final class AcceptingDelegate: SessionDelegate, @unchecked Sendable {
    // SAFETY: its one stored property is a `let` of `Sendable` type.
    private let accepts: Bool

    init(_ accepts: Bool) {
        self.accepts = accepts
        super.init()
    }

    override func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard accepts, let trust = challenge.protectionSpace.serverTrust else {
            return completionHandler(.performDefaultHandling, nil)
        }
        completionHandler(.useCredential, URLCredential(trust: trust))
    }
}
