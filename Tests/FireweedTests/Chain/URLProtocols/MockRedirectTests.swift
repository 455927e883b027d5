import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Redirects and challenges of a URLProtocol", .timeLimit(.minutes(TestTimeouts.minutes)))
struct MockRedirectTests {
    /// A host that redirects to the URL, with the request as the mock makes it of its own.
    private static func redirecting(
        to target: @escaping @Sendable (URLRequest) -> URL?, status: Int = 302,
        change: @escaping @Sendable (inout URLRequest) -> Void = { _ in }
    ) throws -> (url: URL, script: MockProtocol.Script) {
        try MockProtocol.host { mock in
            guard let url = mock.request.url, let target = target(mock.request),
                let response = HTTPURLResponse(
                    url: url, statusCode: status, httpVersion: nil, headerFields: ["Location": target.absoluteString])
            else { return mock.answer("no target") }
            var request = mock.request
            request.url = target
            change(&request)
            mock.redirect(to: request, response)
            mock.fail(CocoaError(.userCancelled))
        }
    }

    @Test("a redirect leads to the next mock, and from there to the network")
    func followed() async throws {
        let server = try FixtureServer.start()
        let network = server.url("/anything")
        let (second, _) = try Self.redirecting(to: { _ in network })
        let (first, script) = try Self.redirecting(to: { _ in second })
        let session = Session.mocked()
        let request = session.request(first, headers: ["X-Own": "1"])
        let response = await request.serializingDecodable(Anything.self).response
        #expect(response.value?.headers["X-Own"] == "1" && response.response?.url == network)
        #expect(response.metrics?.redirectCount == 2)
        await eventually("it is stopped") { script.events.all.contains("stopped") }
    }

    @Test("the redirect handler decides: not to follow makes the redirect the response; to modify changes the request")
    func handler() async throws {
        let (target, _) = try MockProtocol.host { $0.answer($0.request.value(forHTTPHeaderField: "X-Added") ?? "none") }
        let (url, _) = try Self.redirecting(to: { _ in target }, status: 307)
        let session = Session.mocked()
        let refused = await session.request(url).redirect(using: .doNotFollow).serializingData(
            emptyResponseCodes: [307]
        ).response
        #expect(refused.response?.statusCode == 307 && refused.error == nil)
        let modified = session.request(url).redirect(
            using: .modify { _, request, _ in
                var request = request
                request.setValue("added", forHTTPHeaderField: "X-Added")
                return request
            })
        #expect(await modified.serializingString().response.value == "added")
    }

    @Test("a redirect to the scheme of an app is for the handler to decide, and cannot be followed")
    func appScheme() async throws {
        let callback = try #require(URL(string: "myapp://callback?code=1"))
        let (url, script) = try Self.redirecting(to: { _ in callback })
        let session = Session.mocked()
        let asked = ProtectedList<URL?>()
        let refused = await session.request(url).redirect(
            using: .modify { _, request, _ in
                asked.append(request.url)
                return nil
            }
        ).serializingData(emptyResponseCodes: [302]).response
        #expect(asked.all == [callback] && refused.error == nil && refused.response?.statusCode == 302)
        #expect(refused.response?.value(forHTTPHeaderField: "Location") == "myapp://callback?code=1")
        for redirector in [Redirector.follow, nil] {
            let request = session.request(url)
            if let redirector { request.redirect(using: redirector) }
            let error = await request.serializingData().response.error
            #expect(error?.urlErrorCode == .unsupportedURL)
        }
        let (other, _) = try MockProtocol.host { $0.answer("other") }
        let changed = session.request(url).redirect(using: .modify { _, _, _ in URLRequest(url: other) })
        #expect(await changed.serializingString().response.value == "other")
        #expect(script.requests.all.count == 4)
    }

    @Test("redirects without end reach the limit", arguments: [302, 200])
    func limit(status: Int) async throws {
        let (url, script) = try Self.redirecting(to: { $0.url }, status: status)
        let session = Session.mocked(redirectHandler: Redirector(behavior: .follow, maximumRedirectCount: 5))
        let error = await session.request(url).serializingData().response.error
        #expect(error?.urlErrorCode == .httpTooManyRedirects)
        #expect(script.requests.all.count == 6)
    }

    @Test("cookies of the first host do not go to the next one with a copied request")
    func cookies() async throws {
        let (target, script) = try MockProtocol.host { $0.answer("") }
        let (url, _) = try Self.redirecting(to: { _ in target })
        let session = Session.mocked { configuration in
            let cookie = HTTPCookie(properties: [.name: "a", .value: "b", .domain: url.host ?? "", .path: "/"])
            if let cookie { configuration.httpCookieStorage?.setCookie(cookie) }
        }
        _ = await session.request(url).serializingData().response
        #expect(script.requests.all.first?.value(forHTTPHeaderField: "Cookie") == nil)
    }

    @Test("a 3xx or 401 that is the response stays the response, and sets no cookies", arguments: [302, 401])
    func plain(status: Int) async throws {
        let (url, script) = try MockProtocol.host {
            $0.answer(
                "plain", status: status,
                ["Location": "/next", "WWW-Authenticate": "Basic realm=\"r\"", "Set-Cookie": "a=b"])
        }
        let session = Session.mocked()
        let request = session.request(url).authenticate(username: "u", password: "p")
        let response = await request.serializingString().response
        #expect(response.value == "plain" && response.response?.statusCode == status)
        #expect(script.requests.all.count == 1)
        #expect(session.sessionConfiguration.httpCookieStorage?.cookies(for: url)?.isEmpty ?? true)
    }

    /// Answers with what was done about its challenge.
    private final class Sender: NSObject, URLAuthenticationChallengeSender, @unchecked Sendable {
        let mock: Mock

        init(_ mock: Mock) { self.mock = mock }

        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
            mock.answer("\(credential.user ?? "") \(credential.password ?? "")")
        }
        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { mock.answer("continue") }
        func cancel(_ challenge: URLAuthenticationChallenge) { mock.answer("cancel") }
        func performDefaultHandling(for challenge: URLAuthenticationChallenge) { mock.answer("default") }
        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) { mock.answer("reject") }
    }

    /// A host that answers with what is done about its challenge.
    private static func challenging(failures: Int = 0) throws -> URL {
        try MockProtocol.host { mock in
            let space = URLProtectionSpace(
                host: mock.request.url?.host ?? "", port: 80, protocol: "http", realm: "r",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
            let challenge = URLAuthenticationChallenge(
                protectionSpace: space, proposedCredential: nil, previousFailureCount: failures,
                failureResponse: nil, error: nil, sender: Sender(mock))
            mock.challenge(challenge)
        }.url
    }

    @Test("a challenge is answered with the request's credential, and only once")
    func challenge() async throws {
        let session = Session.mocked()
        let asked = session.request(try Self.challenging()).authenticate(username: "u", password: "p")
        #expect(await asked.serializingString().response.value == "u p")
        let again = session.request(try Self.challenging(failures: 1)).authenticate(username: "u", password: "p")
        #expect(await again.serializingString().response.value == "reject")
        #expect(await session.request(try Self.challenging()).serializingString().response.value == "default")
    }

    /// Answers every challenge in one way.
    private final class Decider: SessionDelegate, @unchecked Sendable {
        let disposition: URLSession.AuthChallengeDisposition

        init(_ disposition: URLSession.AuthChallengeDisposition) {
            self.disposition = disposition
            super.init()
        }

        override func urlSession(
            _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            completionHandler(disposition, URLCredential(user: "d", password: "q", persistence: .none))
        }
    }

    @Test(
        "the session's delegate decides about a challenge",
        arguments: [
            (.useCredential, "d q"), (.rejectProtectionSpace, "reject"), (.performDefaultHandling, "u p"),
            (.cancelAuthenticationChallenge, nil),
        ] as [(URLSession.AuthChallengeDisposition, String?)])
    func delegate(disposition: URLSession.AuthChallengeDisposition, expected: String?) async throws {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.protocolClasses = [MockProtocol.self]
        let session = Session(configuration: configuration, delegate: Decider(disposition))
        let request = session.request(try Self.challenging()).authenticate(username: "u", password: "p")
        let response = await request.serializingString().response
        if disposition == .cancelAuthenticationChallenge {
            // The sender's own answer and the cancel are both right ends.
            #expect(response.error?.urlErrorCode == .cancelled || response.value == "cancel")
        } else {
            #expect(response.value == expected)
        }
    }

    @Test("an authentication interceptor refreshes after a mocked 401")
    func interceptor() async throws {
        let (url, _) = try MockProtocol.host { mock in
            let isFresh = mock.request.value(forHTTPHeaderField: "Authorization") == "token 2"
            mock.answer("answer", status: isFresh ? 200 : 401)
        }
        let interceptor = AuthenticationInterceptor(authenticator: TokenAuthenticator(), credential: Token(number: 1))
        let session = Session.mocked()
        let request = session.request(url, interceptor: interceptor).validate()
        #expect(await request.serializingString().response.value == "answer")
    }
}
