import Dispatch
import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

/// A subclass as apps write it: it watches everything, and decides what a test says.
private final class Delegate: SessionDelegate, @unchecked Sendable {
    // SAFETY: its stored properties are `let`s, or set before the session is made.
    typealias ChallengeAnswer = (URLSession.AuthChallengeDisposition, URLCredential?)

    let calls = ProtectedList<String>()
    let tasks = ProtectedList<URLSessionTask>()
    let ends = EventLog<String>()
    var challenge: (@Sendable (URLAuthenticationChallenge) -> ChallengeAnswer?)?
    var redirect: (@Sendable (URLRequest) -> URLRequest?)?
    var disposition: URLSession.ResponseDisposition = .allow
    var stream: (@Sendable () -> InputStream?)?
    var stores = true

    override func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        ends.note("invalid")
    }
    override func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        calls.append("challenge \(challenge.protectionSpace.authenticationMethod) \(challenge.previousFailureCount)")
        tasks.append(task)
        guard let answer = self.challenge?(challenge) else {
            return super.urlSession(session, task: task, didReceive: challenge, completionHandler: completionHandler)
        }
        completionHandler(answer.0, answer.1)
    }
    override func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        calls.append("redirect \(response.statusCode)")
        guard let redirect else {
            return super.urlSession(
                session, task: task, willPerformHTTPRedirection: response, newRequest: request,
                completionHandler: completionHandler)
        }
        completionHandler(redirect(request))
    }
    override func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping (InputStream?) -> Void
    ) {
        calls.append("stream needed")
        guard let stream else {
            return super.urlSession(session, task: task, needNewBodyStream: completionHandler)
        }
        completionHandler(stream())
    }
    override func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        calls.append("response")
        completionHandler(disposition)
    }
    override func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping (CachedURLResponse?) -> Void
    ) {
        calls.append("store")
        guard stores else { return completionHandler(nil) }
        super.urlSession(
            session, dataTask: dataTask, willCacheResponse: proposedResponse, completionHandler: completionHandler)
    }
    override func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        calls.append("sent \(totalBytesSent)")
    }
    override func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: TaskMetrics) {
        calls.append("metrics")
    }
    override func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        ends.note(error == nil ? "end" : "failure")
    }
    override func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        calls.append("data \(data.count)")
    }
    override func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        calls.append("open \(`protocol` ?? "")")
    }
    override func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        ends.note("closed \(closeCode.rawValue) \(String(decoding: reason ?? Data(), as: UTF8.self))")
    }
    override func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        calls.append("downloaded")
    }
    override func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        calls.append("written \(totalBytesWritten)")
    }
}

@Suite("A subclass of a session's delegate", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SessionDelegateTests {
    private static let answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"
    private static let unauthorised =
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 2\r\n\r\nno"

    private let delegate = Delegate()
    private let session: Session

    init() {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.timeoutIntervalForRequest = TimeInterval(TestTimeouts.seconds)
        configuration.urlCache = nil  // its handler is asked about every response that could be stored
        session = Session(configuration: configuration, delegate: delegate)
    }

    private func heads(_ server: ScriptedServer) -> [String] {
        server.events.events.compactMap { if case .head(_, let text) = $0 { text } else { nil } }
    }

    @Test("is notified of a data request in the order of its events")
    func data() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Self.answer), .close])
        let request = session.request(server.url())
        #expect(await request.serializingString().response.value == "hello")
        _ = try await delegate.ends.first(where: { $0 == "end" })
        #expect(delegate.calls.all == ["response", "data 5", "metrics"])
    }

    @Test("is notified of sent content, and of a download")
    func transfers() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .receive(byteCount: 3), .send(Self.answer), .close],
            [.receiveHead, .send(Self.answer), .close])
        #expect(await session.upload(Data("abc".utf8), to: server.url()).serializingString().response.value == "hello")
        _ = try await delegate.ends.first(where: { $0 == "end" })
        #expect(delegate.calls.all == ["sent 3", "response", "data 5", "metrics"])
        #expect(await session.download(server.url()).serializingString().response.value == "hello")
        _ = try await delegate.ends.nth(2) { $0 == "end" }
        #expect(Set(delegate.calls.all.dropFirst(4)) == ["written 5", "metrics", "downloaded"])
    }

    @Test("is notified when a WebSocket opens and closes")
    func webSocket() async throws {
        let server = try WebSocketServer.shared
        let request = session.webSocketRequest(to: server.url("/close?code=1001&reason=bye"))
        for await _ in request.webSocketTask().streamingMessageEvents() {}
        _ = try await delegate.ends.first(where: { $0 == "closed 1001 bye" })
        #expect(delegate.calls.all.contains("open "))
    }

    @Test("hears that the session ends")
    func invalidation() async throws {
        session.invalidate()
        _ = try await delegate.ends.first(where: { $0 == "invalid" })
    }

    @Test("hears once that the session's URLSession was invalidated")
    func urlSessionInvalidation() async throws {
        session.session.invalidateAndCancel()
        session.invalidate()
        _ = try await delegate.ends.first(where: { $0 == "invalid" })
        await withCheckedContinuation { done in session.session.delegateQueue.addOperation { done.resume() } }
        session.rootQueue.sync {}
        #expect(delegate.ends.events == ["invalid"])
    }

    @Test("decides about a redirect, and its super asks the request's handler")
    func redirects() async throws {
        let redirect = "HTTP/1.1 302 Found\r\nLocation: /second\r\nContent-Length: 0\r\n\r\n"
        let server = try ScriptedServer.start(
            [.receiveHead, .send(redirect), .receiveHead, .send(Self.answer), .close],
            [.receiveHead, .send(redirect), .close], [.receiveHead, .send(redirect), .close])
        let third = server.url("/third")
        delegate.redirect = { _ in URLRequest(url: third) }
        #expect(await session.request(server.url()).serializingString().response.value == "hello")
        #expect(heads(server).last?.hasPrefix("GET /third ") == true)
        delegate.redirect = { _ in nil }
        #expect(await session.request(server.url()).serializingData().response.response?.statusCode == 302)
        delegate.redirect = nil
        let own = session.request(server.url()).redirect(using: .doNotFollow)
        #expect(await own.serializingData().response.response?.statusCode == 302)
        #expect(delegate.calls.all.count { $0 == "redirect 302" } == 3)
    }

    @Test("can refuse a response before its content")
    func response() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Self.answer), .close])
        delegate.disposition = .cancel
        let response = await session.request(server.url()).serializingString().response
        #expect(response.error?.urlErrorCode == .cancelled && response.data == nil)
    }

    @Test("after it, the request's own handler of the response is asked")
    func responseHandler() async throws {
        let server = try ScriptedServer.start([.receiveHead, .send(Self.answer), .close])
        let request = session.request(server.url())
        request.onHTTPResponse(on: DispatchQueue(label: "response")) { _, completion in completion(.cancel) }
        let error = await request.serializingString().response.error
        #expect(error?.isExplicitlyCancelledError == true)
        #expect(delegate.calls.all.contains("response"))
    }

    @Test("gives the credential of a challenge, and another one when that is refused")
    func credentials() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send(Self.unauthorised), .receiveHead, .send(Self.unauthorised), .receiveHead,
            .send(Self.answer), .close,
        ])
        delegate.challenge = { challenge in
            let password = challenge.previousFailureCount == 0 ? "wrong" : "right"
            return (.useCredential, URLCredential(user: "u", password: password, persistence: .none))
        }
        let request = session.request(server.url())
        #expect(await request.serializingString().response.value == "hello")
        let fields = heads(server).map { head in
            head.split(separator: "\r\n").first { $0.hasPrefix("Authorization: ") }.map(String.init)
        }
        let (wrong, right) = (Data("u:wrong".utf8).base64EncodedString(), Data("u:right".utf8).base64EncodedString())
        #expect(fields == [nil, "Authorization: Basic \(wrong)", "Authorization: Basic \(right)"])
        let method = NSURLAuthenticationMethodHTTPBasic
        #expect(
            delegate.calls.all.filter { $0.hasPrefix("challenge") } == [
                "challenge \(method) 0", "challenge \(method) 1",
            ])
        #expect(delegate.tasks.all.allSatisfy { $0 == request.task })
    }

    @Test("a server that refuses everything is asked a few times, and its 401 is the response")
    func refusals() async throws {
        let server = try ScriptedServer.start(
            scripts: [(0..<9).flatMap { _ in [.receiveHead, .send(Self.unauthorised)] }])
        delegate.challenge = { challenge in
            (
                .useCredential,
                URLCredential(user: "u", password: "\(challenge.previousFailureCount)", persistence: .none)
            )
        }
        let response = await session.request(server.url()).serializingString().response
        #expect(response.response?.statusCode == 401 && response.value == "no")
        #expect(heads(server).count == 5)
    }

    @Test("cancels a challenge, rejects it, or leaves it to the request's credentials")
    func otherAnswers() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send(Self.unauthorised), .close], [.receiveHead, .send(Self.unauthorised), .close],
            [.receiveHead, .send(Self.unauthorised), .close])
        delegate.challenge = { _ in (.cancelAuthenticationChallenge, nil) }
        #expect(await session.request(server.url()).serializingString().response.error?.urlErrorCode == .cancelled)
        delegate.challenge = { _ in (.rejectProtectionSpace, nil) }
        #expect(await session.request(server.url()).serializingString().response.value == "no")
        delegate.challenge = nil
        #expect(await session.request(server.url()).serializingString().response.value == "no")
        #expect(delegate.calls.all.count { $0.hasPrefix("challenge") } == 3)
    }

    @Test("answers Digest, and its default leaves the challenge to the request's own credential")
    func digest() async throws {
        let fixture = try FixtureServer.start()
        let url = fixture.url("/digest-auth/auth/user/secret")
        delegate.challenge = { _ in
            (.useCredential, URLCredential(user: "user", password: "secret", persistence: .none))
        }
        #expect(await session.request(url).validate().serializingData().response.error == nil)
        delegate.challenge = nil
        // Another origin: the nonce of the first one answers without a challenge.
        let other = try FixtureServer.start()
        let own = session.request(other.url("/digest-auth/auth/user/secret"))
            .authenticate(username: "user", password: "secret")
        #expect(await own.validate().serializingData().response.error == nil)
        #expect(delegate.calls.all.count { $0.hasPrefix("challenge") } == 2)
    }

    private static let redirect = "HTTP/1.1 307 Temporary Redirect\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n"

    @Test("gives a stream whenever content needs one: when an upload begins, and when it is sent again")
    func streams() async throws {
        let server = try FixtureServer.start()
        let target = server.url("/redirect-to?url=/anything&status_code=307")
        let count = Atomic(0)
        delegate.stream = { InputStream(data: Data("piece \(count.add(1, ordering: .relaxed).newValue)".utf8)) }
        let request = session.upload(InputStream(data: Data("its own stream".utf8)), to: target)
        let content = try await request.serializingString().value
        #expect(content.contains("piece 2") && !content.contains("its own"))
        #expect(delegate.calls.all.count { $0 == "stream needed" } == 2)
    }

    @Test("leaves the request's own stream to its super, once; without a stream the task fails")
    func ownStream() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .receive(byteCount: 11), .send(Self.redirect), .receiveHead, .hold])
        let request = session.upload(InputStream(data: Data("x".utf8)), to: server.url())
        #expect(await request.serializingString().response.error?.urlErrorCode == .requestBodyStreamExhausted)
        #expect(delegate.calls.all.count { $0 == "stream needed" } == 2)
    }

    @Test("may take its time for a stream: other requests go on meanwhile")
    func slowStream() async throws {
        let server = try FixtureServer.start()
        let needed = ProtectedList<DispatchGroup>()
        let isAnswered = DispatchGroup()
        isAnswered.enter()
        delegate.stream = {
            needed.append(isAnswered)
            isAnswered.wait()
            return InputStream(data: Data("late".utf8))
        }
        let upload = session.upload(InputStream(data: Data("x".utf8)), to: server.url("/anything"))
        let task = upload.serializingString()
        #expect(try await becomes { needed.all.count == 1 })
        let other = Session.isolated()
        #expect(await other.request(server.url("/get")).serializingData().response.error == nil)
        isAnswered.leave()
        #expect(try await task.value.contains("late"))
    }

    @Test("decides what is stored, and its super asks the request's handler")
    func storing() async throws {
        let fresh = "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 5\r\n\r\nhello"
        let server = try ScriptedServer.start(
            scripts: (0..<3).map { _ in [.receiveHead, .send(fresh), .close] })
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.urlCache = URLCache(memoryCapacity: 4 << 20, diskCapacity: 0, diskPath: nil)
        let session = Session(configuration: configuration, delegate: delegate)
        delegate.stores = false
        #expect(await session.request(server.url()).serializingString().response.value == "hello")
        await session.flushResponseStore()
        delegate.stores = true
        let refused = session.request(server.url()).cacheResponse(using: .doNotCache)
        #expect(await refused.serializingString().response.value == "hello")
        await session.flushResponseStore()
        #expect(await session.request(server.url()).serializingString().response.value == "hello")
        await session.flushResponseStore()
        #expect(await session.request(server.url()).serializingString().response.value == "hello")
        #expect(heads(server).count == 3 && delegate.calls.all.count { $0 == "store" } == 3)
    }

    @Test("decides whether a server is trusted, whatever the authorities say", arguments: [true, false])
    func trust(isManaged: Bool) async throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: authority.issue())
        let url = try #require(nginx.secureURL).appendingPathComponent("small")
        let manager = isManaged ? ServerTrustManager(evaluators: ["127.0.0.1": .default, "localhost": .default]) : nil
        let session = Session(configuration: .af.ephemeral, delegate: delegate, serverTrustManager: manager)
        // The authority is unknown.
        #expect(await session.request(url).serializingData().response.error != nil)
        delegate.challenge = { challenge in
            guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust,
                let trust = challenge.protectionSpace.serverTrust
            else { return nil }
            return trust.presentedCertificates.isEmpty
                ? (.cancelAuthenticationChallenge, nil) : (.useCredential, URLCredential(trust: trust))
        }
        let request = session.request(url)
        #expect(await request.validate().serializingData().response.error == nil)
        #expect(delegate.tasks.all.last == request.task)
    }

    @Test("refuses a server that the authorities trust")
    func distrust() async throws {
        let authority = try CertificateAuthority()
        let nginx = try NginxServer(certificate: authority.issue())
        let url = try #require(nginx.secureURL).appendingPathComponent("small")
        var options = TransportOptions()
        options.certificateAuthorities = .file(authority.certificate)
        let session = Session(configuration: .af.ephemeral, delegate: delegate, transportOptions: options)
        delegate.challenge = { _ in (.cancelAuthenticationChallenge, nil) }
        let error = await session.request(url).serializingData().response.error
        #expect(error?.isSessionTaskError == true && error?.urlErrorCode == .cancelled)
        delegate.challenge = nil
        #expect(await session.request(url).validate().serializingData().response.error == nil)
    }

    @Test("chooses the certificate that a server is shown, and sends none that is not requested")
    func identity() async throws {
        let authority = try CertificateAuthority()
        let issued = try authority.issue(purpose: "clientAuth")
        var options = TransportOptions()
        options.certificateAuthorities = .file(authority.certificate)
        let session = Session(configuration: .af.ephemeral, delegate: delegate, transportOptions: options)
        let demanding = try NginxServer(certificate: authority.issue(), clientAuthority: authority)
        let url = try #require(demanding.secureURL).appendingPathComponent("small")
        #expect(await session.request(url).serializingData().response.response?.statusCode == 400)
        delegate.challenge = { challenge in
            guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodClientCertificate else {
                return nil
            }
            let identity = ClientIdentity(certificate: issued.certificate, privateKey: issued.key)
            return (.useCredential, ClientIdentityCredential(identity))
        }
        // A connection that was made without the certificate may be used again: this session has none.
        let second = Session(configuration: .af.ephemeral, delegate: delegate, transportOptions: options)
        #expect(await second.request(url).validate().serializingData().response.error == nil)
        let plain = try NginxServer(certificate: authority.issue())
        let other = try #require(plain.secureURL).appendingPathComponent("small")
        #expect(await second.request(other).validate().serializingData().response.error == nil)
    }
}
