import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// Interceptors that would retry for ever, and requests that end while an interceptor decides.
@Suite("Bounded retries", .timeLimit(.minutes(TestTimeouts.minutes)))
struct BoundedRetryTests {
    private let sessions = ProtectedList<Session>()
    private let url = "https://service.example/"

    private struct Refusal: Error {}

    @Test("credentials that need a refresh on arrival end with excessiveRefresh")
    func oldOnArrival() async {
        let authenticator = TokenAuthenticator { token, completion in
            completion(.success(Token(number: token.number + 1, requiresRefresh: true)))
        }
        let interceptor = AuthenticationInterceptor(authenticator: authenticator, credential: Token(number: 1))
        let session = Session.scripted(keptBy: sessions, interceptor: interceptor) { _ in 401 }
        let request = session.request(url)
        let error = await request.finalError
        #expect(error?.isRequestAdaptationError == true)
        #expect(error?.underlyingError as? AuthenticationError == .excessiveRefresh)
        #expect(authenticator.refreshed.all.count == 5 && request.retryCount == 1)
    }

    @Test("without a window, a request ends with excessiveRefresh after 100 refreshes that brought nothing usable")
    func oldOnArrivalWithoutWindow() async {
        let authenticator = TokenAuthenticator { token, completion in
            completion(.success(Token(number: token.number + 1, requiresRefresh: true)))
        }
        let interceptor = AuthenticationInterceptor(
            authenticator: authenticator, credential: Token(number: 0, requiresRefresh: true), refreshWindow: nil)
        let session = Session.scripted(keptBy: sessions, interceptor: interceptor) { _ in 200 }
        let error = await session.request(url).finalError
        #expect(error?.underlyingError as? AuthenticationError == .excessiveRefresh)
        #expect(authenticator.refreshed.all.count == 100)
        // The next request has its own hundred.
        #expect(await session.request(url).finalError?.underlyingError as? AuthenticationError == .excessiveRefresh)
        #expect(authenticator.refreshed.all.count == 200)
    }

    @Test("an interceptor that fails every request and retries it does so a hundred times")
    func adapterThatFails() async {
        let interceptor = Interceptor { _, _, completion in
            completion(.failure(Refusal()))
        } retryHandler: { _, _, _, completion in
            completion(.retry)
        }
        let session = Session.scripted(keptBy: sessions, interceptor: interceptor) { _ in 200 }
        let request = session.request(url)
        let error = await request.finalError
        #expect(error?.underlyingError is Refusal && request.retryCount == 100)
    }

    /// Requests that fail inside the transport before anything is sent.
    enum Unsent: CaseIterable {
        case missingFile, refusedConnection, unknownHost
    }

    @Test(
        "a request that fails before anything is sent is retried immediately a hundred times",
        arguments: Unsent.allCases)
    func unsent(_ kind: Unsent) async {
        let retrier = Retrier { request, _, _, completion in
            completion(request.retryCount < 250 ? .retry : .doNotRetry)
        }
        let session = Session.isolated(interceptor: retrier)
        sessions.append(session)
        // Port 1 has no listener.
        let request =
            switch kind {
            case .missingFile: session.upload(URL(fileURLWithPath: "/missing/\(UUID())"), to: "http://127.0.0.1:1/")
            case .refusedConnection: session.request("http://127.0.0.1:1/")
            case .unknownHost: session.request("http://missing.invalid/")
            }
        let error = await request.finalError
        #expect(error?.underlyingError is URLError && request.retryCount == 100)
    }

    @Test(
        "a delay below 0.1 s, and one that is no number, is none: a hundred retries without a message",
        arguments: [1e-9, 0.099, 0, -0.0, -5, .nan, -.infinity, .leastNonzeroMagnitude])
    func shortDelays(delay: Double) async {
        #expect(await retryCount(delay) == 100)
    }

    @Test("retries after 0.1 s and more are not counted", arguments: [0.1, 60])
    func delays(delay: Double) async {
        #expect(await retryCount(delay) == 250)
    }

    @Test("short delays between long ones are counted")
    func mixedDelays() async {
        #expect(await retryCount(1e-9, 60) == 200)
    }

    /// How often a request is retried that never sends anything, after delays that alternate.
    private func retryCount(_ delays: Double...) async -> Int {
        let interceptor = Interceptor { _, _, completion in
            completion(.failure(Refusal()))
        } retryHandler: { request, _, _, completion in
            let count = request.retryCount
            completion(count < 250 ? .retryWithDelay(delays[count % delays.count]) : .doNotRetry)
        }
        let session = Session.stubbed(clock: TestClock.automatic, interceptor: interceptor) {}
        let request = session.request(url)
        #expect(await request.finalError?.underlyingError is Refusal)
        return request.retryCount
    }

    @Test("messages that are sent begin the count anew")
    func sentMessages() async {
        let retrier = Retrier { request, _, _, completion in
            completion(request.retryCount < 250 ? .retry : .doNotRetry)
        }
        let session = Session.scripted(keptBy: sessions, interceptor: retrier) { _ in 503 }
        let request = session.request(url)
        #expect(await request.finalError?.responseCode == 503 && request.retryCount == 250)
    }

    @Test("a request that is cancelled while a retrier decides ends at once, as cancelled")
    func cancelledWhileDeciding() async {
        let answers = ProtectedList<@Sendable (RetryResult) -> Void>()
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let retrier = Retrier { _, _, _, completion in
            answers.append(completion)
            ask.yield()
        }
        let session = Session.scripted(keptBy: sessions, interceptor: retrier) { _ in 503 }
        let request = session.request(url).validate(statusCode: 200..<300)
        let task = request.serializingData(emptyResponseCodes: [503])
        for await _ in asked { break }
        request.cancel()
        #expect(await task.response.error?.isExplicitlyCancelledError == true)
        for answer in answers.all { answer(.retry) }
        #expect(request.isCancelled && request.tasks.count == 1)
    }

    @Test("a download that is cancelled while a retrier decides ends at once, as cancelled", arguments: [true, false])
    func cancelledDownload(wantsResumeData: Bool) async {
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let retrier = Retrier { _, _, _, _ in ask.yield() }
        let session = Session.scripted(keptBy: sessions, interceptor: retrier) { _ in 503 }
        let request = session.download(url).validate(statusCode: 200..<300)
        let task = request.serializingData(emptyResponseCodes: [503])
        for await _ in asked { break }
        request.cancel(producingResumeData: wantsResumeData)
        #expect(await task.response.error?.isExplicitlyCancelledError == true)
        #expect(request.isCancelled && request.tasks.count == 1)
    }

    @Test("a download that is cancelled while an adapter decides ends at once, as cancelled")
    func cancelledDownloadWhileAdapting() async {
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let adapter = Adapter { _, _, _ in ask.yield() }
        let session = Session.scripted(keptBy: sessions, interceptor: adapter) { _ in 200 }
        let request = session.download(url)
        let task = request.serializingData()
        for await _ in asked { break }
        request.cancel()
        #expect(await task.response.error?.isExplicitlyCancelledError == true)
    }

    @Test("a request that is cancelled while an adapter decides ends at once, as cancelled")
    func cancelledWhileAdapting() async {
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let adapter = Adapter { _, _, _ in ask.yield() }
        let session = Session.scripted(keptBy: sessions, interceptor: adapter) { _ in 200 }
        let request = session.request(url)
        let task = request.serializingData()
        for await _ in asked { break }
        request.cancel()
        #expect(await task.response.error?.isExplicitlyCancelledError == true)
    }

    @Test("a session that is invalidated while a retrier decides ends the request, with that as the reason")
    func invalidatedWhileDeciding() async {
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let retrier = Retrier { _, _, _, _ in ask.yield() }
        let session = Session.scripted(keptBy: sessions, interceptor: retrier) { _ in 503 }
        let task = session.request(url).validate(statusCode: 200..<300).serializingData(emptyResponseCodes: [503])
        for await _ in asked { break }
        session.invalidate()
        #expect(await task.response.error?.isSessionInvalidatedError == true)
    }
}
