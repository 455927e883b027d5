import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

@testable import Fireweed

@Suite("For whom a response is stored", .timeLimit(.minutes(TestTimeouts.minutes)))
final class CachePartitionTests: Sendable {
    private let store = MemoryResponseStore()
    private let sent = Atomic(0)

    /// A session whose origin numbers its answers, with the store that all sessions of the test share.
    private func session(
        _ control: String = "max-age=60", manager: ServerTrustManager? = nil, location: String? = nil,
        delegate: SessionDelegate = SessionDelegate(), options change: (inout TransportOptions) -> Void = { _ in }
    ) -> Session {
        var options = TransportOptions()
        change(&options)
        let fields = ["Cache-Control": control, "Location": location].compactMapValues(\.self)
        let transport = OptionedTransport(options) { [self] _ in
            let number = sent.add(1, ordering: .relaxed).newValue
            let lines = fields.map { Field(name: $0.key, value: $0.value) }
            return [.head(ResponseHead(status: 200, fields: lines)), .content(Data("\(number)".utf8))]
        }
        return Session(
            transport: transport, configuration: .af.ephemeral, delegate: delegate, serverTrustManager: manager,
            options: SessionOptions(responseStore: store))
    }

    private func answer(
        _ session: Session, _ url: String = "https://a.test/", _ headers: HTTPHeaders = [:],
        method: HTTPMethod = .get
    ) async throws -> String {
        defer { _ = session }
        let text = try await session.request(url, method: method, headers: headers).serializingString().value
        await session.flushResponseStore()
        return text
    }

    // MARK: Credentials

    @Test(
        "users of a field with credentials do not get each other's responses",
        arguments: ["Authorization", "x-tenant-key"] + TransportOptions.standardCredentialFieldNames)
    func credentialFields(name: String) async throws {
        let session = session("private, max-age=60") { $0.credentialFieldNames.append("X-Tenant-Key") }
        #expect(try await answer(session, headers(name, "alice")) == "1")
        #expect(try await answer(session, headers(name, "bob")) == "2")
        #expect(try await answer(session) == "3", "nobody")
        #expect(try await answer(session, headers(name.uppercased(), "alice")) == "1")
        #expect(try await answer(session, headers(name, "bob")) == "2")
    }

    private func headers(_ name: String, _ value: String) -> HTTPHeaders {
        HTTPHeaders([HTTPHeader(name: name, value: value)])
    }

    private func answer(_ session: Session, _ headers: HTTPHeaders) async throws -> String {
        try await answer(session, "https://a.test/", headers)
    }

    @Test("a public response answers every user; a field that is no credential divides nobody")
    func shared() async throws {
        let all = session("public, max-age=60")
        #expect(try await answer(all, ["X-Api-Key": "alice"]) == "1")
        #expect(try await answer(all, ["X-Api-Key": "bob"]) == "1")
        let other = session()
        #expect(try await answer(other, "https://b.test/", ["X-Page": "1"]) == "2")
        #expect(try await answer(other, "https://b.test/", ["X-Page": "2"]) == "2")
    }

    @Test("a field whose name has the word of a secret divides users too, unless a standard name is left out")
    func words() async throws {
        let names = ["X-Acme-Token", "Acme-Secret-Key", "X-Session"]
        let session = session("private, max-age=60")
        for (index, name) in names.enumerated() {
            #expect(try await answer(session, headers(name, "alice")) == "\(2 * index + 1)")
            #expect(try await answer(session, headers(name, "bob")) == "\(2 * index + 2)")
        }
        let other = self.session("private, max-age=60") { $0.credentialFieldNames.removeAll { $0 == "X-Api-Key" } }
        #expect(try await answer(other, "https://b.test/", headers(names[0], "alice")) == "7")
        #expect(try await answer(other, "https://b.test/", headers(names[0], "bob")) == "7")
    }

    @Test("a name with a dot at its end may be another machine's, and has its own responses")
    func completeName() async throws {
        let session = session()
        #expect(try await answer(session, "https://a.test/") == "1")
        #expect(try await answer(session, "https://a.test./") == "2")
        #expect(try await answer(session, "https://A.test/") == "1")
    }

    // MARK: Targets

    @Test("the Host field is part of the target, for look-up, storing and invalidation (RFC 9110 §7.1)")
    func host() async throws {
        let session = session()
        let url = "http://a.test/"
        #expect(try await answer(session, url) == "1")
        #expect(try await answer(session, url, ["Host": "b.test"]) == "2")
        #expect(try await answer(session, url, ["host": "c.test"]) == "3")
        for own in ["a.test", "A.test:80"] { #expect(try await answer(session, url, ["Host": own]) == "1") }
        #expect(try await answer(session, url, ["Host": "B.test"]) == "2", "in any spelling")
        #expect(try await answer(session, "http://b.test/") == "4", "what came from elsewhere is not b.test's")
        #expect(try await answer(session, url, ["Host": "b.test"], method: .put) == "5")
        #expect(try await answer(session, url) == "1")
        #expect(try await answer(session, url, ["Host": "c.test"]) == "3")
        #expect(try await answer(session, url, ["Host": "b.test"]) == "6", "invalidated")
    }

    @Test(
        "a response to an unsafe method invalidates what it names on its own origin, by its own name",
        arguments: ["/named", "http://b.test/named", "http://a.test/named"])
    func named(location: String) async throws {
        let session = session(location: location)
        let url = "http://a.test/named"
        let host: HTTPHeaders = ["Host": "b.test"]
        #expect(try await answer(session, url, host) == "1")
        #expect(try await answer(session, url) == "2")
        #expect(try await answer(session, "http://a.test/other", host, method: .post) == "3")
        #expect(try await answer(session, url, host) == "4", "invalidated")
        #expect(try await answer(session, url) == "2")
    }

    private static let ways: [@Sendable (inout TransportOptions) -> Void] = [
        { _ in }, { $0.unixSocketPath = "/a.sock" }, { $0.unixSocketPath = "/b.sock" },
        { $0.addressOverrides = ["A.test": ["192.0.2.1"]] }, { $0.addressOverrides = ["a.test": ["192.0.2.2"]] },
        { $0.connectionRoutes = [ConnectionRoute(host: "a.test", targetHost: "b.test")] },
        { $0.connectionRoutes = [ConnectionRoute(targetPort: 8080)] },
    ]

    @Test("a session that connects elsewhere does not take what another place has sent", arguments: ["http", "https"])
    func places(scheme: String) async throws {
        let url = "\(scheme)://a.test/"
        for (number, way) in Self.ways.enumerated() {
            #expect(try await answer(session(options: way), url) == "\(number + 1)")
        }
        for (number, way) in Self.ways.enumerated() {
            #expect(try await answer(session(options: way), url) == "\(number + 1)", "the same way again")
        }
        let unrelated = session { $0.addressOverrides = ["b.test": ["192.0.2.1"]] }
        #expect(try await answer(unrelated, url) == "1", "another host's address")
    }

    // MARK: Proxies and refused addresses

    private static let proxies: [@Sendable (inout TransportOptions) -> Void] = [
        { $0.proxy = Proxy.none }, { $0.proxy = Proxy(host: "a.proxy", port: 8080) },
        { $0.proxy = Proxy(host: "b.proxy", port: 8080) }, { $0.proxy = Proxy(host: "a.proxy", port: 8081) },
        { $0.proxy = Proxy(host: "a.proxy", port: 8080, user: "me", password: "secret") },
        { $0.proxy = Proxy(.socks5h, host: "a.proxy", port: 8080) },
        { $0.configuredProxies = ConfiguredProxies(["HTTPEnable": 1, "HTTPProxy": ""]) },
    ]

    @Test("in clear text, what came through a proxy answers only sessions with the same proxy")
    func proxies() async throws {
        let url = "http://a.test/"
        for round in 1...2 {
            for (number, proxy) in Self.proxies.enumerated() {
                #expect(try await answer(session(options: proxy), url) == "\(number + 1)", "round \(round)")
            }
        }
        let bypassed = session { $0.proxy = Proxy(host: "a.proxy", port: 8080, bypassedHosts: ["a.test"]) }
        #expect(try await answer(bypassed, url) == "1", "reached directly")
        let configured = session {
            $0.configuredProxies = ConfiguredProxies(
                ["HTTPEnable": 1, "HTTPProxy": "A.proxy", "HTTPPort": 8080] as [String: Any])
        }
        #expect(try await answer(configured, url) == "2", "the same proxy by another way")
        #expect(try await answer(session { $0.proxy = Proxy(host: "a.proxy", port: 8080) }, url, method: .put) == "8")
        #expect(try await answer(session(options: Self.proxies[1]), url) == "9", "invalidated")
        #expect(try await answer(session(options: Self.proxies[2]), url) == "3", "another server's")
    }

    @Test("over TLS a proxy divides nothing that the authorities check")
    func proxiesWithTLS() async throws {
        for proxy in Self.proxies { #expect(try await answer(session(options: proxy)) == "1") }
        let manager = Self.manager(DisabledTrustEvaluator())
        for (number, proxy) in Self.proxies.prefix(3).enumerated() {
            #expect(try await answer(session(manager: manager, options: proxy)) == "\(number + 2)")
        }
    }

    @Test("a session that refuses addresses takes nothing that others fetched from them", arguments: ["http", "https"])
    func refusedAddresses(scheme: String) async throws {
        let url = "\(scheme)://a.test/"
        let network = try #require(IPNetwork("10.0.0.0/8"))
        for _ in 1...2 {
            #expect(try await answer(session(), url) == "1")
            #expect(try await answer(session { $0.addressGuard = .publicOnly }, url) == "2")
            #expect(try await answer(session { $0.addressGuard = .publicOnly(except: [network]) }, url) == "3")
            #expect(try await answer(session { $0.addressGuard = AddressGuard(refusing: [network]) }, url) == "4")
        }
        let empty = session { $0.addressGuard = AddressGuard(refusing: [], except: [network]) }
        #expect(try await answer(empty, url) == "1", "refuses nothing")
    }

    @Test("sessions with other places that share a URLCache never get each other's responses")
    func sharedURLCache() async throws {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let sessions = Self.ways.indices.map { way in
            var options = TransportOptions()
            Self.ways[way](&options)
            let transport = OptionedTransport(options) { _ in
                let fields = [Field(name: "Cache-Control", value: "max-age=60")]
                return [.head(ResponseHead(status: 200, fields: fields)), .content(Data("way \(way)".utf8))]
            }
            return Session(transport: transport, configuration: configuration)
        }
        for way in sessions.indices.flatMap({ first in sessions.indices.flatMap { [first, $0, first] } }) {
            for isStored in [false, true] {
                let response = await sessions[way].request("http://a.test/").serializingString().response
                #expect(response.value == "way \(way)")
                if isStored { #expect(response.metrics?.responseSource == .cache) }
                await sessions[way].flushResponseStore()
            }
        }
    }

    // MARK: Updates

    /// A session whose origin gives a first answer, and then a 304 or an answer to HEAD with other fields.
    private func session(first: [String: String], later: [String: String], status: Int) -> Session {
        let transport = ScriptedTransport { [self] message in
            let number = sent.add(1, ordering: .relaxed).newValue
            let fields = (number == 1 ? first : later).map { Field(name: $0.key, value: $0.value) }
            let head = ResponseHead(status: number == 1 ? 200 : status, fields: fields)
            return [.head(head)] + (number == 1 ? [.content(Data("first".utf8))] : [])
        }
        return Session(
            transport: transport, configuration: .af.ephemeral, options: SessionOptions(responseStore: store))
    }

    @Test(
        "a response that a later answer narrows answers nobody, until it is received again",
        arguments: [HTTPMethod.get, .head], ["Cache-Control", "Vary"])
    func narrowed(method: HTTPMethod, name: String) async throws {
        let later = name == "Vary" ? ["Vary": "Accept-Language"] : ["Cache-Control": "private, max-age=300"]
        let session = session(
            first: ["Cache-Control": "public, max-age=60", "ETag": "\"1\""],
            later: later.merging(["X-User": "alice", "ETag": "\"1\""]) { $1 }, status: method == .get ? 304 : 200)
        let url = "https://a.test/"
        _ = try await answer(session, url, ["X-Api-Key": "nobody"])
        var request = URLRequest(url: try #require(URL(string: url)), cachePolicy: .reloadRevalidatingCacheData)
        request.method = method
        request.headers = ["X-Api-Key": "alice", "Accept-Language": "de"]
        let own = await session.request(request).serializingData(emptyResponseCodes: [200]).response
        #expect(own.response?.value(forHTTPHeaderField: "X-User") == "alice")
        await session.flushResponseStore()
        let headers: HTTPHeaders = ["X-Api-Key": "bob", "Accept-Language": "fr"]
        let other = await session.request(url, headers: headers).serializingData().response
        #expect(other.metrics?.responseSource == .network)
    }

    @Test("a challenge is not stored, whatever its lifetime", arguments: [401, 407])
    func challenge(status: Int) async throws {
        let transport = ScriptedTransport { _ in
            [.head(ResponseHead(status: status, fields: [Field(name: "Cache-Control", value: "max-age=600")]))]
        }
        let session = Session(
            transport: transport, configuration: .af.ephemeral, options: SessionOptions(responseStore: store))
        for _ in 1...2 {
            let request = session.request("https://a.test/")
            let response = await request.serializingData(emptyResponseCodes: [status]).response
            await session.flushResponseStore()
            #expect(response.response?.statusCode == status && response.metrics?.responseSource == .network)
        }
    }

    @Test("a change that one session makes is known to all sessions with the same URLCache")
    func sharedInvalidation() async throws {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.urlCache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, diskPath: nil)
        let server = try FixtureServer.start()
        let (came, goOn) = (EventLog<String>(), EventLog<String>())
        for path in ["/other", "/r", "/slow"] {
            server.route(path) { [self] request in
                let number = sent.add(1, ordering: .relaxed).newValue
                let isSlow = path == "/slow" && number == 4
                if isSlow { came.note(path) }
                return FixtureResponse(
                    fields: [("Cache-Control", "max-age=600")],
                    body: .pieces(byteCount: 1) { piece in
                        if isSlow, goOn.events.isEmpty { return .wait(0.01) }
                        return piece == 0 || isSlow ? .bytes(Data("\(number)".utf8)) : .end
                    })
            }
        }
        let sessions = (0..<2).map { _ in Session(configuration: configuration) }
        func url(_ path: String) -> String { server.url(path).absoluteString }
        // A miss of the first session is remembered while the second one stores a response.
        #expect(try await answer(sessions[0], url("/other"), method: .delete) == "1")
        #expect(try await answer(sessions[1], url("/r")) == "2")
        #expect(try await answer(sessions[0], url("/r"), method: .put) == "3")
        // A response that is older than a change is not stored, even if another session asked for it.
        async let old = answer(sessions[0], url("/slow"))
        _ = try await came.first { $0 == "/slow" }
        #expect(try await answer(sessions[1], url("/slow"), method: .put) == "5")
        goOn.note("/slow")
        #expect(try await old == "4")
        #expect(try await answer(sessions[1], url("/slow")) == "6")
        #expect(try await answer(sessions[1], url("/r")) == "7")
    }

    // MARK: Trust

    private static func manager(_ evaluator: any ServerTrustEvaluating) -> ServerTrustManager {
        ServerTrustManager(evaluators: ["a.test": evaluator])
    }

    private static func pins(_ byte: UInt8) throws -> PublicKeysTrustEvaluator {
        let hash = Data(repeating: byte, count: 32).base64EncodedString()
        return PublicKeysTrustEvaluator(pins: [try PublicKeyPin("sha256//\(hash)")])
    }

    private struct Own: ServerTrustEvaluating {
        let isStrict: Bool
        func evaluate(_ trust: ServerTrust, forHost host: String) throws {}
    }

    @Test("a session takes nothing that came under other rules about servers")
    func trust() async throws {
        let evaluators: [any ServerTrustEvaluating] = [
            DisabledTrustEvaluator(), .default, .default(validateHost: false), try Self.pins(1), try Self.pins(2),
            .pinnedCertificates(certificates: []), .revocationChecking, .composite(evaluators: [try Self.pins(1)]),
            .composite(evaluators: []),
        ]
        for round in 1...2 {
            for (number, evaluator) in evaluators.enumerated() {
                let session = session(manager: Self.manager(evaluator))
                #expect(try await answer(session) == "\(number + 1)", "\(evaluator), round \(round)")
            }
        }
        #expect(try await answer(session()) == "2", "the default evaluator checks as the authorities do")
        let file = session { $0.certificateAuthorities = .file(URL(filePath: "/ca.pem")) }
        #expect(try await answer(file) == "10", "other authorities")
        #expect(try await answer(session(delegate: Delegate("a"))) == "11", "a delegate that may decide")
        #expect(try await answer(session(delegate: Delegate("a"))) == "11")
        #expect(try await answer(session(delegate: Delegate("b"))) == "12", "with other rules")
        #expect(try await answer(session(delegate: Delegate(nil))) == "13", "with rules that it does not name")
        #expect(try await answer(session(delegate: Delegate(nil))) == "14")
    }

    @Test("authorities count by the content that their file has at the start of a session, wherever it is")
    func authorities() async throws {
        let testCertificates = try TestCertificates.shared
        let folder = try TemporaryFolder()
        let (file, copy) = (folder.file("authorities.pem"), folder.file("copy.pem"))
        func use(_ issued: CertificateGenerator.Issued) throws {
            try issued.pem.write(to: file, atomically: true, encoding: .utf8)
        }
        try use(testCertificates.root)
        try testCertificates.root.pem.write(to: copy, atomically: true, encoding: .utf8)
        func answer(_ file: URL) async throws -> String {
            try await self.answer(session { $0.certificateAuthorities = .file(file) })
        }
        #expect(try await answer(file) == "1")
        #expect(try await answer(copy) == "1")
        try use(testCertificates.intermediate)
        #expect(try await answer(file) == "2")
        try use(testCertificates.root)
        #expect(try await answer(file) == "1")
    }

    @Test("an evaluator that does not name its rules keeps its responses to its session")
    func namelessRules() async throws {
        let strict = session(manager: Self.manager(Own(isStrict: true)))
        let composite = session(manager: Self.manager(.composite(evaluators: [Own(isStrict: true)])))
        for _ in 1...2 {
            #expect(try await answer(strict) == "1")
            #expect(try await answer(composite) == "2")
        }
        #expect(try await answer(session(manager: Self.manager(Own(isStrict: false)))) == "3")
    }

    private final class Delegate: SessionDelegate, @unchecked Sendable {
        // SAFETY: its one stored property is a `let` of `Sendable` type.
        private let rules: String?

        init(_ rules: String?) {
            self.rules = rules
            super.init()
        }

        override var cachePartition: String? { rules }
    }

    @Test("rules about servers divide nothing that comes in clear text")
    func clearText() async throws {
        let url = "http://a.test/"
        #expect(try await answer(session(manager: Self.manager(DisabledTrustEvaluator())), url) == "1")
        #expect(try await answer(session(manager: Self.manager(Self.pins(1))), url) == "1")
    }

    // MARK: Client certificates

    @Test("client certificates do not share answers; the certificate counts, and not its path")
    func clientCertificates() async throws {
        let authority = try CertificateAuthority()
        let (alice, bob) = (try authority.issue(purpose: "clientAuth"), try authority.issue(purpose: "clientAuth"))
        let folder = try TemporaryFolder()
        let (certificate, key) = (folder.file("me.pem"), folder.file("me.key"))
        func use(_ issued: CertificateAuthority.Issued) throws {
            try Data(contentsOf: issued.certificate).write(to: certificate)
            try Data(contentsOf: issued.key).write(to: key)
        }
        let me = session { $0.clientIdentity = ClientIdentity(certificate: certificate, privateKey: key) }
        let hers = session {
            $0.clientIdentities = [
                "a.test": ClientIdentity(certificate: alice.certificate, privateKey: alice.key)
            ]
        }
        try use(alice)
        #expect(try await answer(me) == "1")
        #expect(try await answer(session()) == "2", "no certificate")
        #expect(try await answer(hers) == "1", "the same certificate in another place")
        try use(bob)
        #expect(try await answer(me) == "3", "another certificate in the same place")
        try use(alice)
        #expect(try await answer(me) == "1")
        #expect(try await answer(me, "http://b.test/") == "4")
        #expect(try await answer(session(), "http://b.test/") == "4", "clear text")
        let all = session("public, max-age=60") {
            $0.clientIdentity = ClientIdentity(certificate: bob.certificate, privateKey: bob.key)
        }
        #expect(try await answer(all, "https://c.test/") == "5")
        #expect(try await answer(session(), "https://c.test/") == "5", "public")
    }
}

/// A scripted transport with options, which takes rules about servers and never asks them.
private final class OptionedTransport: Transport {
    let options: TransportOptions
    let abilities: TransportAbilities = .serverTrust
    let executor: (any TaskExecutor)? = nil
    private let base: ScriptedTransport

    init(_ options: TransportOptions, answer: @escaping @Sendable (RequestMessage) -> [ScriptedTransport.Action]) {
        self.options = options
        base = ScriptedTransport(answer: answer)
    }

    func makeTransfer(of message: RequestMessage, for consumer: any TransferConsumer) -> any TransferControl {
        base.makeTransfer(of: message, for: consumer)
    }

    func shutDown() { base.shutDown() }
}
