import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("AuthenticationInterceptor", .timeLimit(.minutes(TestTimeouts.minutes)))
struct AuthenticationInterceptorTests {
    private let sessions = ProtectedList<Session>()
    /// Accepts one token and every later one.
    private func session(
        _ interceptor: any RequestInterceptor, accepting number: Int, seen: ProtectedList<Int> = ProtectedList()
    ) -> Session {
        Session.scripted(keptBy: sessions, interceptor: interceptor) { message in
            seen.append(message.token ?? -1)
            return (message.token ?? -1) >= number ? 200 : 401
        }
    }

    private let url = "https://service.example/"

    @Test("applies the credential")
    func applies() async {
        let authenticator = TokenAuthenticator()
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1))
        #expect(await session(interceptor, accepting: 1).request(url).validatedStatus == 200)
        #expect(authenticator.refreshed.all.isEmpty)
    }

    @Test("fails without a credential, before anything is sent")
    func missing() async {
        let seen = ProtectedList<Int>()
        let interceptor = AuthenticationInterceptor(authenticator: TokenAuthenticator())
        let error = await session(interceptor, accepting: 1, seen: seen).request(url).finalError
        #expect(error?.isRequestAdaptationError == true)
        #expect(error?.underlyingError as? AuthenticationError == .missingCredential)
        #expect(seen.all.isEmpty)
    }

    @Test("1,000 concurrent requests with an expired credential refresh it once")
    func expired() async {
        let seen = ProtectedList<Int>()
        let authenticator = TokenAuthenticator()
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: Token(number: 1, requiresRefresh: true))
        let session = session(interceptor, accepting: 2, seen: seen)
        #expect(await successes(1_000, session) == 1_000)
        #expect(authenticator.refreshed.all == [1])
        #expect(seen.all.count == 1_000 && Set(seen.all) == [2])
        #expect(interceptor.credential == Token(number: 2))
    }

    @Test("1,000 concurrent requests with a credential that the server refuses refresh it once")
    func refused() async {
        let authenticator = TokenAuthenticator()
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1))
        #expect(await successes(1_000, session(interceptor, accepting: 2)) == 1_000)
        #expect(authenticator.refreshed.all == [1])
    }

    private func successes(_ count: Int, _ session: Session) async -> Int {
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<count { group.addTask { await session.request(url).validatedStatus } }
            return await group.reduce(0) { $0 + ($1 == 200 ? 1 : 0) }
        }
    }

    @Test(
        "1,000 concurrent requests over the wire with an expired token: one refresh, 1,000 successes",
        arguments: [true, false])
    func overTheWire(isKnownToBeExpired: Bool) async throws {
        let server = try FixtureServer.start()
        let renewals = ProtectedList<String>()
        server.route("/token") { request in
            renewals.append(request.field("Authorization") ?? "")
            return .text("2")
        }
        server.route("/guarded") { request in
            request.field("Authorization") == "token 2" ? .text("welcome") : FixtureResponse(status: 401)
        }
        let plain = Session.isolated()
        let authenticator = TokenAuthenticator { _, completion in
            plain.request(server.url("/token"), method: .post).responseString(queue: .global()) { response in
                completion(response.result.map { Token(number: Int($0) ?? 0) }.mapError { $0 as any Error })
            }
        }
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: Token(number: 1, requiresRefresh: isKnownToBeExpired))
        let session = Session.isolated(interceptor: interceptor)
        let welcomed = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<1_000 {
                group.addTask {
                    let request = session.request(server.url("/guarded")).validate()
                    return await request.serializingString().response.value == "welcome"
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(welcomed == 1_000)
        #expect(renewals.all.count == 1 && authenticator.refreshed.all == [1])
    }

    @Test("a request that begins while a refused credential is renewed waits, and carries the new one")
    func begunDuringRefresh() async {
        let refreshes = HeldRefreshes()
        let authenticator = TokenAuthenticator { _, completion in refreshes.hold(completion) }
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1))
        let sessions = ProtectedList<Session>()
        let tokens = ProtectedList<Int>()
        let session = Session.scripted(keptBy: sessions, interceptor: interceptor) { message in
            tokens.append(message.token ?? 0)
            return message.token == 2 ? 200 : 401
        }
        async let first = session.request("https://service.example/first").validatedStatus
        await refreshes.began()
        let second = session.request("https://service.example/second")
        // It is adapted on this thread.
        second.resume()
        #expect(second.tasks.isEmpty)
        refreshes.release(.success(Token(number: 2)))
        #expect(await first == 200)
        #expect(await second.validatedStatus == 200)
        #expect(tokens.all == [1, 2, 2])
    }

    @Test("a failed refresh fails everyone who waits, with its error")
    func refreshFails() async {
        let held = HeldRefreshes()
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator { _, completion in held.hold(completion) },
            credential: Token(number: 1, requiresRefresh: true))
        let session = session(interceptor, accepting: 2)
        let requests = (0..<20).map { _ in session.request(url) }
        let tasks = requests.map { $0.serializingData() }
        await held.began()
        held.release(.failure(RefreshRefused()))
        for task in tasks {
            let error = await task.response.error
            #expect(error?.isRequestAdaptationError == true && error?.underlyingError is RefreshRefused)
        }
    }

    @Test("a retry that follows a failed refresh meets its error; the next adapt forgets it")
    func failureRemembered() async {
        let outcomes = ProtectedList<Int>()
        let authenticator = TokenAuthenticator { token, completion in
            outcomes.append(token.number)
            completion(outcomes.all.count == 1 ? .failure(RefreshRefused()) : .success(Token(number: 2)))
        }
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1))
        let session = session(interceptor, accepting: 2)
        let error = await session.request(url).finalError
        guard case .requestRetryFailed(let retryError, let original) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(retryError is RefreshRefused && original.asAFError?.responseCode == 401)
        #expect(await session.request(url).validatedStatus == 200)
        #expect(authenticator.refreshed.all == [1, 1])
    }

    @Test("a request that carried an older credential is sent again without a refresh")
    func olderCredential() async {
        let authenticator = TokenAuthenticator()
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1))
        let session = Session.scripted(keptBy: sessions, interceptor: interceptor) { message in
            // The credential is renewed elsewhere while the request is on its way.
            if message.token == 1 { interceptor.credential = Token(number: 2) }
            return message.token == 2 ? 200 : 401
        }
        let request = session.request(url)
        #expect(await request.validatedStatus == 200)
        #expect(request.retryCount == 1 && authenticator.refreshed.all.isEmpty)
    }

    @Test("what is no failure of authentication is not retried", arguments: [400, 403, 500])
    func otherFailures(status: Int) async {
        let authenticator = TokenAuthenticator()
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1))
        let request = Session.scripted(keptBy: sessions, interceptor: interceptor) { _ in status }.request(url)
        #expect(await request.finalError?.responseCode == status)
        #expect(request.retryCount == 0 && authenticator.refreshed.all.isEmpty)
    }

    @Test("a failure without a response is not retried")
    func noResponse() async {
        let authenticator = TokenAuthenticator()
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1))
        let session = Session.scripted(keptBy: sessions, interceptor: interceptor) { _ in
            [.failure(.exchange(.networkConnectionLost, detail: "scripted", engineCode: 0))]
        }
        let request = session.request(url)
        #expect(await request.finalError?.urlErrorCode == .networkConnectionLost)
        #expect(request.retryCount == 0 && authenticator.refreshed.all.isEmpty)
    }

    @Test("a service that refuses every credential is asked for as many as the window allows")
    func excessive() async {
        let authenticator = TokenAuthenticator()
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: Token(number: 1),
            refreshWindow: .init(interval: 3_600, maximumAttempts: 3))
        let error = await session(interceptor, accepting: .max).request(url).finalError
        guard case .requestRetryFailed(let retryError, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(retryError as? AuthenticationError == .excessiveRefresh)
        #expect(authenticator.refreshed.all == [1, 2, 3])
    }

    @Test("new credentials that are expired already end in excessiveRefresh, not in a loop or a deep stack")
    func expiredAgain() async {
        let authenticator = TokenAuthenticator { token, completion in
            completion(.success(Token(number: token.number + 1, requiresRefresh: true)))
        }
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: Token(number: 1, requiresRefresh: true))
        let error = await session(interceptor, accepting: 1).request(url).finalError
        #expect(error?.underlyingError as? AuthenticationError == .excessiveRefresh)
        #expect(authenticator.refreshed.all == [1, 2, 3, 4, 5])
    }

    @Test("5,000 refreshes in a row that end at once do not nest")
    func doNotNest() async {
        let authenticator = TokenAuthenticator { token, completion in
            completion(.success(Token(number: token.number + 1, requiresRefresh: token.number < 5_000)))
        }
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: Token(number: 1, requiresRefresh: true),
            refreshWindow: .init(interval: 3_600, maximumAttempts: 5_000))
        #expect(await session(interceptor, accepting: 5_001).request(url).validatedStatus == 200)
        #expect(authenticator.refreshed.all.count == 5_000)
    }

    @Test("a credential that is removed during a refresh stays removed")
    func removedMeanwhile() async {
        let held = HeldRefreshes()
        let interceptor = AuthenticationInterceptor(
            authenticator: TokenAuthenticator { _, completion in held.hold(completion) },
            credential: Token(number: 1, requiresRefresh: true))
        let task = session(interceptor, accepting: 1).request(url).serializingData()
        _ = task
        await held.began()
        interceptor.credential = nil
        held.release(.success(Token(number: 2)))
        let error = await task.response.error
        #expect(error?.underlyingError as? AuthenticationError == .missingCredential)
        #expect(interceptor.credential == nil)
    }

    @Test("an authenticator may read and set the credential in every method: no lock is held")
    func reentrant() async {
        let holder = ProtectedList<AuthenticationInterceptor<TokenAuthenticator>>()
        let authenticator = TokenAuthenticator { token, completion in
            let number = holder.all[0].credential?.number ?? 0
            holder.all[0].credential = Token(number: number + 1)
            completion(.success(Token(number: number + 1)))
        }
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1))
        holder.append(interceptor)
        #expect(await session(interceptor, accepting: 2).request(url).validatedStatus == 200)
        #expect(authenticator.refreshed.all == [1])
    }

    @Test("an authenticator may renew credentials in an async method")
    func asyncAuthenticator() async {
        struct Renewer: AsyncAuthenticator {
            func apply(_ credential: Token, to urlRequest: inout URLRequest) {
                TokenAuthenticator().apply(credential, to: &urlRequest)
            }
            func refresh(_ credential: Token, for session: Session) async throws -> Token {
                await Task.yield()
                if credential.number == 2 { throw RefreshRefused() }
                return Token(number: credential.number + 1)
            }
            func didRequest(
                _ urlRequest: URLRequest, with response: HTTPURLResponse, failDueToAuthenticationError error: any Error
            ) -> Bool { response.statusCode == 401 }
            func isRequest(_ urlRequest: URLRequest, authenticatedWith credential: Token) -> Bool {
                TokenAuthenticator().isRequest(urlRequest, authenticatedWith: credential)
            }
        }
        let interceptor = AuthenticationInterceptor(authenticator: Renewer(), credential: Token(number: 1))
        #expect(await session(interceptor, accepting: 2).request(url).validatedStatus == 200)
        #expect(interceptor.credential == Token(number: 2))
        let error = await session(interceptor, accepting: 3).request(url).finalError
        guard case .requestRetryFailed(let retryError, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(retryError is RefreshRefused)
    }
}
