import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("The handshake of a WebSocket as a request of the session", .timeLimit(.minutes(TestTimeouts.minutes)))
struct WebSocketHandshakeTests {
    /// The fields of the handshake as the Python server saw them.
    private func fields(_ request: WebSocketRequest) async throws -> [String: String] {
        for await message in request.webSocketTask().streamingMessages() {
            if case .string(let text) = message {
                return try JSONDecoder().decode([String: String].self, from: Data(text.utf8))
            }
        }
        throw request.error ?? .explicitlyCancelled
    }

    private func failure(_ request: WebSocketRequest) async -> String? {
        let sights = await request.webSocketTask().sights()
        guard sights.count == 1, case .completed(let name)? = sights.last else { return "\(sights)" }
        return name
    }

    @Test("interceptors adapt it, header fields and parameters go with it")
    func adapted() async throws {
        let server = try WebSocketServer.shared
        let session = Session.isolated(
            interceptor: Adapter { request, _, completion in
                var request = request
                request.headers.add(name: "X-Adapted", value: "yes")
                completion(.success(request))
            })
        let request = session.webSocketRequest(
            to: server.url("/headers"), parameters: ["a": "b"], headers: ["X-Own": "1"])
        let seen = try await fields(request)
        #expect(seen["x-adapted"] == "yes" && seen["x-own"] == "1" && seen["user-agent"]?.isEmpty == false)
        #expect(seen["sec-websocket-version"] == "13" && seen["host"] == "127.0.0.1:\(server.port)")
        #expect(request.request?.url?.absoluteString == "\(server.url("/headers").absoluteString)?a=b")
        #expect(request.performedRequests.last?.url?.scheme == "ws")
    }

    @Test("cookies are set by one and sent by the next")
    func cookies() async throws {
        let server = try WebSocketServer.shared
        let session = Session.isolated()
        let first = session.webSocketRequest(to: server.url("/cookie"))
        _ = await first.webSocketTask().sights { $0.close(sending: .normalClosure) }
        let seen = try await fields(session.webSocketRequest(to: server.url("/headers")))
        #expect(seen["cookie"] == "flavour=plain")
    }

    @Test("redirects are followed, to ws, to http and to a path; credentials do not cross origins")
    func redirects() async throws {
        let server = try WebSocketServer.shared
        let other = try WebSocketServer()
        let session = Session.isolated()
        let path = try await fields(session.webSocketRequest(to: server.url("/redirect?to=/headers")))
        #expect(path["upgrade"] == "websocket")
        for target in ["ws://127.0.0.1:\(other.port)/headers", "http://127.0.0.1:\(other.port)/headers"] {
            let request = session.webSocketRequest(
                to: server.url("/redirect?to=\(target)"),
                headers: ["Authorization": "secret", "Sec-WebSocket-Protocol": "bearer.secret"])
            let seen = try await fields(request)
            #expect(seen["host"] == "127.0.0.1:\(other.port)" && seen["authorization"] == nil)
            #expect(seen["sec-websocket-protocol"] == nil, "browsers have no other field for a token")
            #expect(request.metrics?.redirectCount == 1 || request.metrics == nil)
        }
        let staying = Session.isolated(redirectHandler: Redirector.doNotFollow)
        let refused = staying.webSocketRequest(to: server.url("/redirect?to=/headers"))
        #expect(await failure(refused) == "\(URLError.Code.badServerResponse.rawValue)")
        #expect(refused.response?.statusCode == 302)
    }

    @Test("another status is badServerResponse with the response, and may be retried")
    func statuses() async throws {
        let server = try WebSocketServer.shared
        let retries = ProtectedList<Int>()
        let session = Session.isolated(
            interceptor: Retrier { request, _, _, completion in
                retries.append(request.response?.statusCode ?? 0)
                completion(request.retryCount < 2 ? .retry : .doNotRetry)
            })
        let request = session.webSocketRequest(to: server.url("/status?code=503"))
        #expect(await failure(request) == "\(URLError.Code.badServerResponse.rawValue)")
        #expect(retries.all == [503, 503, 503] && request.tasks.count == 3)
    }

    @Test("a Basic challenge is answered with the request's credential, or the URL's")
    func authentication() async throws {
        let server = try WebSocketServer.shared
        let session = Session.isolated()
        let given = session.webSocketRequest(to: server.url("/basic"))
            .authenticate(username: "user", password: "secret")
        #expect(try await fields(given)["authorization"]?.hasPrefix("Basic ") == true)
        let inURL = session.webSocketRequest(to: "ws://user:secret@127.0.0.1:\(server.port)/basic")
        #expect(try await fields(inURL)["authorization"]?.hasPrefix("Basic ") == true)
        let wrong = session.webSocketRequest(to: server.url("/basic")).authenticate(username: "user", password: "x")
        #expect(await failure(wrong) == "\(URLError.Code.badServerResponse.rawValue)")
        #expect(wrong.response?.statusCode == 401)
    }

    @Test("it goes over TLS with the session's authorities, trust and identity")
    func secure() async throws {
        let authority = try CertificateAuthority()
        let server = try WebSocketServer(certificate: authority.issue())
        var options = TransportOptions()
        options.certificateAuthorities = .file(authority.certificate)
        let big = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 >> 3) })
        let session = Session.isolated(transportOptions: options)
        let second = session.webSocketRequest(to: server.url("/echo"), configuration: .maximumMessageSize(1 << 22))
        let secondTask = second.webSocketTask()
        let sights = try await secondTask.sights { event in
            if case .connected = event.kind { try await secondTask.send(.data(big)) }
            if event.message != nil { event.close(sending: .normalClosure) }
        }
        #expect(sights == [.connected(nil), .data(big), .disconnected(1000, nil), .completed(nil)])
        #expect(second.metrics?.transactionMetrics.first?.negotiatedTLSProtocolVersion == "TLSv1.3")
        let plain = Session.isolated()
        let stranger = plain.webSocketRequest(to: server.url("/echo"))
        #expect(await failure(stranger) == "\(URLError.Code.serverCertificateHasUnknownRoot.rawValue)")
        let manager = ServerTrustManager(evaluators: ["localhost": DisabledTrustEvaluator()])
        let trustingSession = Session.isolated(serverTrustManager: manager)
        let trusting = trustingSession.webSocketRequest(to: server.url("/headers"))
        #expect(try await fields(trusting)["upgrade"] == "websocket")
        let strict = ServerTrustManager(evaluators: ["localhost": DefaultTrustEvaluator()])
        let strictSession = Session.isolated(serverTrustManager: strict)
        let refused = strictSession.webSocketRequest(to: server.url("/headers"))
        _ = await failure(refused)
        #expect(refused.error?.isServerTrustEvaluationError == true)
    }

    @Test("a proxy is asked for a tunnel, in clear text too", arguments: [true, false])
    func proxies(isSOCKS: Bool) async throws {
        let server = try WebSocketServer.shared
        var options = TransportOptions()
        let http = isSOCKS ? nil : try HTTPProxyServer()
        let socks = isSOCKS ? try SOCKSProxyServer() : nil
        if let http { options.proxy = Proxy(.http, host: "127.0.0.1", port: Int(http.port)) }
        if let socks { options.proxy = Proxy(.socks5h, host: "127.0.0.1", port: Int(socks.port)) }
        let session = Session.isolated(transportOptions: options)
        let seen = try await fields(session.webSocketRequest(to: server.url("/headers")))
        #expect(seen["host"] == "127.0.0.1:\(server.port)")
    }

    @Test(
        "an answer that misses a demand of RFC 6455 §4.1 is refused",
        arguments: [
            ["Sec-WebSocket-Accept": "AAAAAAAAAAAAAAAAAAAAAAAAAAA="], ["Upgrade": ""], ["Connection": "close"],
            ["Sec-WebSocket-Protocol": "uninvited"], ["Sec-WebSocket-Extensions": "permessage-deflate"],
        ])
    func wrongAnswers(fields: [String: String]) async throws {
        let peer = try WebSocketPeer(answer: .init(fields: fields)) { $0.waitForEnd() }
        let session = Session.isolated()
        let request = session.webSocketRequest(to: peer.url)
        #expect(await failure(request) == "\(URLError.Code.badServerResponse.rawValue)")
        #expect(request.response?.statusCode == 101)
    }

    @Test("the process's own resolver looks up the host: its words are in the error, and its threads are bounded")
    func unknownHost() async throws {
        let session = Session.isolated()
        let request = session.webSocketRequest(to: "ws://does-not-exist.invalid/")
        #expect(await failure(request) == "\(URLError.Code.cannotFindHost.rawValue)")
        let error = try #require(request.error?.underlyingError as? URLError)
        let detail = try #require(error.userInfo[TransferFailure.engineDetailKey] as? String)
        let words = detail.split(separator: "does-not-exist.invalid", omittingEmptySubsequences: false)
        #expect(words.count == 2 && words.last?.contains(/[a-z]{4}/) == true, "\(detail)")
    }

    @Test("a server that says nothing is timedOut, one that closes is a lost connection, none is cannotConnectToHost")
    func failures() async throws {
        let silent = try ScriptedServer.start([.receiveHead, .hold])
        let closing = try ScriptedServer.start([.receiveHead, .close])
        let impatient = Session.isolated { $0.timeoutIntervalForRequest = 0.2 }
        #expect(await failure(impatient.webSocketRequest(to: silent.url())) == "\(URLError.Code.timedOut.rawValue)")
        let session = Session.isolated()
        #expect(
            await failure(session.webSocketRequest(to: closing.url()))
                == "\(URLError.Code.networkConnectionLost.rawValue)")
        #expect(
            await failure(session.webSocketRequest(to: "ws://127.0.0.1:1/"))
                == "\(URLError.Code.cannotConnectToHost.rawValue)")
        let wrong = session.webSocketRequest(to: "ftp://127.0.0.1/")
        _ = await failure(wrong)
        #expect(wrong.error?.urlErrorCode == .unsupportedURL)
    }

    @Test("WebSockets leave the session's connections to its requests, and nothing behind")
    func independence() async throws {
        let sockets = try WebSocketServer()
        let server = try FixtureServer.start()
        let session = Session.isolated { $0.httpMaximumConnectionsPerHost = 1 }
        var tasks: [WebSocketTask] = []
        for _ in 0..<20 {
            let task = session.webSocketRequest(to: sockets.url("/echo")).webSocketTask()
            tasks.append(task)
            task.resume()
            try await task.send(.string("x"))
        }
        for task in tasks {
            guard case .pong = await task.sendPing() else {
                Issue.record("a WebSocket is not open")
                return
            }
        }
        #expect(await session.request(server.url("/anything")).serializingData().response.error == nil)
        for task in tasks { task.cancel() }
        for task in tasks { #expect(await task.sights().last == .completed("cancelled")) }
        #expect(try await becomes { ProcessStatistics().connections(to: sockets.url("/")) == 0 })
    }
}
