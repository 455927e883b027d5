import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Connections over TLS, against nginx", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SecureConnectionTests {
    let authority: CertificateAuthority

    init() throws {
        authority = try CertificateAuthority()
    }

    private func options(_ change: (inout TransportOptions) -> Void = { _ in }) -> TransportOptions {
        var options = TransportOptions()
        options.certificateAuthorities = .file(authority.certificate)
        change(&options)
        return options
    }

    private func url(_ server: NginxServer) throws -> URL {
        try #require(server.secureURL).appendingPathComponent("small")
    }

    @Test("HTTP/2 is spoken where the server agrees, HTTP/1.1 where it is asked for", arguments: [true, false])
    func protocols(isHTTP2: Bool) async throws {
        let server = try NginxServer(certificate: authority.issue())
        let session = Session.isolated(transportOptions: options { $0.httpVersion = isHTTP2 ? .automatic : .http1Only })
        for attempt in 0..<3 {
            let response = await session.request(try url(server)).validate().serializingData().response
            #expect(response.error == nil && response.data?.count == 63)
            let metrics = try #require(response.metrics?.transactionMetrics.first)
            #expect(metrics.networkProtocolName == (isHTTP2 ? "h2" : "http/1.1"))
            #expect(metrics.isReusedConnection == (attempt > 0))
            #expect(metrics.negotiatedTLSProtocolVersion == "TLSv1.3")
            #expect((metrics.secureConnectionStartDate == nil) == (attempt > 0))
        }
    }

    @Test("100 requests at once share one HTTP/2 connection")
    func multiplexing() async throws {
        let server = try NginxServer(certificate: authority.issue())
        let session = Session.isolated(transportOptions: options())
        let url = try url(server)
        let ports = await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    await session.request(url).serializingData().response.metrics?.transactionMetrics.first?.localPort
                }
            }
            return await group.reduce(into: Set<Int?>()) { $0.insert($1) }
        }
        #expect(ports.count == 1 && ports.first != .some(nil))
    }

    @Test(
        "what is wrong with a certificate has its code",
        arguments: [
            ("unknown authority", URLError.Code.serverCertificateHasUnknownRoot),
            ("wrong host", .serverCertificateUntrusted),
            ("expired", .serverCertificateUntrusted), ("not yet valid", .serverCertificateUntrusted),
        ])
    func badCertificates(fault: String, code: URLError.Code) async throws {
        let issued =
            switch fault {
            case "wrong host": try authority.issue(["DNS:elsewhere.example"])
            case "expired": try authority.issue(validity: .expired)
            case "not yet valid": try authority.issue(validity: .notYet)
            default: try authority.issue()
            }
        let server = try NginxServer(certificate: issued)
        // Another attempt would find the same certificate.
        let policy = RetryPolicy(exponentialBackoffBase: 2, exponentialBackoffScale: 0.001)
        let session = Session.isolated(
            interceptor: policy, transportOptions: fault == "unknown authority" ? TransportOptions() : options())
        let request = session.request(try url(server))
        let error = await request.serializingData().response.error
        #expect(error?.urlErrorCode == code, "\(String(describing: error))")
        #expect(request.retryCount == 0)
        let underlying = (error?.underlyingError as? URLError)?.userInfo[NSUnderlyingErrorKey]
        #expect(underlying is TrustFailure)
    }

    @Test("evaluators decide inside the handshake")
    func evaluators() async throws {
        let issued = try authority.issue()
        let server = try NginxServer(certificate: issued)
        let leaf = try Certificate(contentsOf: issued.certificate)
        let root = try Certificate(contentsOf: authority.certificate)
        let stranger = try CertificateAuthority()
        let other = try Certificate(contentsOf: stranger.certificate)
        func error(_ evaluator: any ServerTrustEvaluating, ownAuthority: Bool = true) async throws -> AFError? {
            let session = Session.isolated(
                serverTrustManager: ServerTrustManager(evaluators: ["localhost": evaluator]),
                transportOptions: ownAuthority ? options() : TransportOptions())
            return await session.request(try url(server)).serializingData().response.error
        }
        #expect(try await error(.default) == nil)
        #expect(try await error(.default, ownAuthority: false)?.isServerTrustEvaluationError == true)
        #expect(try await error(DisabledTrustEvaluator(), ownAuthority: false) == nil)
        #expect(try await error(.pinnedCertificates(certificates: [leaf])) == nil)
        #expect(try await error(.pinnedCertificates(certificates: [other]))?.isServerTrustEvaluationError == true)
        #expect(try await error(.pinnedCertificates(certificates: []))?.isServerTrustEvaluationError == true)
        #expect(
            try await error(
                .pinnedCertificates(certificates: [leaf], acceptSelfSignedCertificates: true), ownAuthority: false)
                == nil)
        #expect(try await error(.publicKeys(keys: [leaf.publicKey])) == nil)
        // The verified chain ends in the root, which the server need not send.
        #expect(try await error(.publicKeys(keys: [root.publicKey])) == nil)
        #expect(try await error(.publicKeys(keys: [other.publicKey]))?.isServerTrustEvaluationError == true)
        #expect(
            try await error(
                .composite(evaluators: [DefaultTrustEvaluator(), PublicKeysTrustEvaluator(keys: [other.publicKey])]))?
                .isServerTrustEvaluationError == true)
    }

    @Test("a host without an evaluator is refused, unless the authorities may decide", arguments: [true, false])
    func noEvaluator(mustBeEvaluated: Bool) async throws {
        let server = try NginxServer(certificate: authority.issue())
        let manager = ServerTrustManager(allHostsMustBeEvaluated: mustBeEvaluated, evaluators: [:])
        let session = Session.isolated(serverTrustManager: manager, transportOptions: options())
        let error = await session.request(try url(server)).serializingData().response.error
        #expect((error == nil) == !mustBeEvaluated)
    }

    @Test("a client certificate is shown to a server that demands one")
    func clientCertificate() async throws {
        let server = try NginxServer(certificate: authority.issue(), clientAuthority: authority)
        let issued = try authority.issue(purpose: "clientAuth")
        let identity = ClientIdentity(certificate: issued.certificate, privateKey: issued.key)
        let known = Session.isolated(transportOptions: options { $0.clientIdentity = identity })
        #expect(await known.request(try url(server)).validate().serializingData().response.error == nil)
        let unknown = Session.isolated(transportOptions: options())
        #expect(await unknown.request(try url(server)).serializingData().response.response?.statusCode == 400)
    }

    @Test("a client certificate that is missing or refused is the error of each of many requests, in TLS 1.3 too")
    func clientCertificateErrors() async throws {
        let testCertificates = try TestCertificates.shared
        let peer = try SecurePeer(
            [testCertificates.server, testCertificates.intermediate], role: .answering("HTTP/1.1 204 OK\r\n\r\n"),
            clientAuthority: testCertificates.root.certificate)
        let stranger = try authority.issue(purpose: "clientAuth")
        let identity = ClientIdentity(certificate: stranger.certificate, privateKey: stranger.key)
        let sessions = [
            (testCertificates.session(), URLError.Code.clientCertificateRequired),
            (testCertificates.session { $0.clientIdentity = identity }, .clientCertificateRejected),
        ]
        for (session, code) in sessions {
            for _ in 0..<30 {
                let error = await session.request(peer.url()).serializingData().response.error
                #expect(error?.urlErrorCode == code, "\(String(describing: error))")
            }
        }
    }

    @Test("a client certificate that is missing is the error of every request on an HTTP/2 connection")
    func clientCertificateErrorOfStreams() async throws {
        let testCertificates = try TestCertificates.shared
        let peer = try SecurePeer(
            [testCertificates.server, testCertificates.intermediate], role: .http2("answer"),
            clientAuthority: testCertificates.root.certificate)
        var sharedCount = 0
        // Requests share a connection only where its handshake is over before it is refused: mostly, and not always.
        for round in 0..<200 where round < 10 || sharedCount == 0 {
            let session = testCertificates.session()
            let tasks = (0..<8).map { _ in session.request(peer.url()).serializingData() }
            var codes: [Int: [URLError.Code?]] = [:]
            for task in tasks {
                let response = await task.response
                codes[response.metrics?.transactionMetrics.last?.localPort ?? 0, default: []]
                    .append(response.error?.urlErrorCode)
            }
            for codes in codes.values where codes.count > 1 {
                sharedCount += 1
                #expect(Set(codes) == [.clientCertificateRequired])
            }
        }
        #expect(sharedCount > 0)
    }

    @Test("no common version of TLS: secureConnectionFailed")
    func noCommonVersion() async throws {
        let server = try NginxServer(certificate: authority.issue())
        let session = Session.isolated(
            transportOptions: options { options in
                options.minimumTLSVersion = .tls10
                options.maximumTLSVersion = .tls10
            })
        let error = await session.request(try url(server)).serializingData().response.error
        #expect(error?.urlErrorCode == .secureConnectionFailed, "\(String(describing: error))")
    }
}
