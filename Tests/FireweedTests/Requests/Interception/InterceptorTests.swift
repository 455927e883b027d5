import Fireweed
import FixtureServer
import Foundation
import Testing

/// Adds a letter to the `X-Way` field, or fails, and decides about retries as told.
private struct Station: RequestInterceptor {
    let letter: String
    var failure: (any Error & Sendable)?
    var decision: RetryResult = .doNotRetry
    let asked: ProtectedList<String>

    func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        asked.append("adapt \(letter)")
        if let failure { return completion(.failure(failure)) }
        var request = urlRequest
        request.headers.update(name: "X-Way", value: (request.headers["X-Way"] ?? "") + letter)
        completion(.success(request))
    }

    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        asked.append("retry \(letter)")
        completion(decision)
    }
}

private struct Detour: Error {}

@Suite("Interception", .timeLimit(.minutes(TestTimeouts.minutes)))
struct InterceptorTests {
    private let sessions = ProtectedList<Session>()
    private let url = "https://service.example/"
    private let asked = ProtectedList<String>()

    private func station(_ letter: String, failure: (any Error & Sendable)? = nil, decision: RetryResult = .doNotRetry)
        -> Station
    {
        Station(letter: letter, failure: failure, decision: decision, asked: asked)
    }

    @Test("adapters: the session's, then the request's own; in an Interceptor adapters before interceptors")
    func adaptOrder() async {
        let seen = ProtectedList<String?>()
        let session = Session.scripted(
            keptBy: sessions,
            interceptor: Interceptor(adapters: [station("C")], interceptors: [station("D"), station("E")])
        ) { message in
            seen.append(message.fields.fields.first { $0.name == "X-Way" }?.value)
            return 200
        }
        let own = Interceptor(adapters: [station("A"), station("B")])
        _ = await session.request(url, interceptor: own).serializingData().response
        #expect(seen.all == ["CDEAB"])
    }

    @Test("the first adapter that fails ends it: nothing after it is asked, and nothing is sent")
    func adaptFailure() async {
        let session = Session.scripted(keptBy: sessions, interceptor: station("A")) { _ in 200 }
        let own = Interceptor(adapters: [station("B", failure: Detour()), station("C")])
        let error = await session.request(url, interceptor: own).serializingData().response.error
        #expect(error?.isRequestAdaptationError == true && error?.underlyingError is Detour)
        #expect(asked.all.filter { $0.hasPrefix("adapt") } == ["adapt A", "adapt B"])
    }

    @Test(
        "retriers are asked in order until one says something other than doNotRetry",
        arguments: [
            (RetryResult.retry, 1, ["retry C", "retry A", "retry B"]),
            (.retryWithDelay(0.001), 1, ["retry C", "retry A", "retry B"]),
            // Once for the task, and once for the serialiser, which fails with the task's error.
            (.doNotRetryWithError(Detour()), 0, ["retry C", "retry A", "retry B", "retry C", "retry A", "retry B"]),
            (.doNotRetry, 0, ["retry C", "retry A", "retry B", "retry C", "retry A", "retry B"]),
        ])
    func retryOrder(decision: RetryResult, retries: Int, expected: [String]) async {
        let sent = ProtectedList<Int>()
        let session = Session.scripted(keptBy: sessions, interceptor: station("C")) { _ in
            sent.append(1)
            return sent.all.count == 1 ? 503 : 200
        }
        let own = Interceptor(retriers: [station("A"), station("B", decision: decision)])
        let request = session.request(url, interceptor: own)
        let error = await request.finalError
        #expect(asked.all.filter { $0.hasPrefix("retry") } == expected)
        #expect(request.retryCount == retries)
        if case .requestRetryFailed(let retryError, let original) = error {
            #expect(retryError is Detour && original.asAFError?.responseCode == 503)
        } else {
            #expect(error?.responseCode == (retries == 0 ? 503 : nil))
        }
    }

    @Test("what is added to a request comes after its own interceptor, in the order of the calls")
    func addedInterceptors() async {
        let sent = ProtectedList<String?>()
        let session = Session.scripted(keptBy: sessions, interceptor: station("A")) { message in
            sent.append(message.fields.fields.first { $0.name == "X-Way" }?.value)
            return 503
        }
        let request = session.request(url, interceptor: station("B"))
            .adapt(using: station("C")).interceptor(station("D")).retry(using: station("E")).adapt(using: station("F"))
        #expect(await request.finalError?.responseCode == 503)
        #expect(sent.all == ["ABCDF"])
        #expect(asked.all.filter { $0.hasPrefix("retry") }.prefix(4) == ["retry A", "retry B", "retry D", "retry E"])
        let bare = Session.scripted(keptBy: sessions) { _ in 200 }.request(url)
        #expect(bare.interceptor == nil)
        #expect(await bare.adapt(using: station("A")).serializingData(emptyResponseCodes: [200]).response.error == nil)
        #expect(bare.request?.headers["X-Way"] == "A" && bare.interceptor != nil)
    }

    @Test("a session is the delegate of its requests")
    func delegate() async throws {
        let session = Session.scripted(
            keptBy: sessions, interceptor: station("A", decision: .doNotRetryWithError(Detour()))
        ) { _ in 404 }
        let request = session.request(url)
        let delegate = try #require(request.delegate)
        #expect(delegate === session && delegate.startImmediately && session.startImmediately)
        #expect(delegate.sessionConfiguration.timeoutIntervalForRequest > 0)
        delegate.readyToPerform(request: request)
        #expect(request.requests.count == 2 && request.isInitialized)
        let result = await withCheckedContinuation { continuation in
            delegate.retryResult(for: request, dueTo: .explicitlyCancelled) { continuation.resume(returning: $0) }
        }
        guard case .doNotRetryWithError(AFError.requestRetryFailed(let error, let original)) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(error is Detour && original.asAFError?.isExplicitlyCancelledError == true)
        delegate.cleanup(after: request)
        session.withAllRequests { #expect($0.isEmpty) }
    }

    @Test("closures as adapters and retriers, by completion and by async, and by their short names")
    func closures() async {
        let byCompletion = Session.scripted(
            keptBy: sessions,
            interceptor: .interceptor(
                adapter: { request, _, completion in completion(.success(request)) },
                retrier: { request, _, _, completion in completion(request.retryCount < 2 ? .retry : .doNotRetry) })
        ) { _ in 500 }
        let first = byCompletion.request(url)
        #expect(await first.finalError?.responseCode == 500 && first.retryCount == 2)

        let interceptor = Interceptor(
            adapters: [
                .adapter { request, _ in
                    await Task.yield()
                    var request = request
                    request.headers.update(name: "X-Way", value: "async")
                    return request
                }
            ],
            retriers: [.retrier { request, _, _ in request.retryCount < 3 ? .retry : .doNotRetry }])
        let second = Session.scripted(keptBy: sessions, interceptor: interceptor) { _ in 500 }.request(url)
        #expect(await second.finalError?.responseCode == 500)
        #expect(second.retryCount == 3 && second.request?.headers["X-Way"] == "async")
    }

    @Test("an async interceptor does nothing unless a method is written, and hears who asks")
    func asyncInterceptor() async {
        struct Idle: AsyncRequestInterceptor {}
        struct Named: AsyncRequestInterceptor {
            func adapt(_ urlRequest: URLRequest, using state: RequestAdapterState) async throws -> URLRequest {
                var request = urlRequest
                request.headers.update(name: "X-Identity", value: state.requestID.uuidString)
                return request
            }
            func retry(_ request: Request, for session: Session, dueTo error: any Error) async -> RetryResult {
                .doNotRetryWithError(Detour())
            }
        }
        let idle = Session.scripted(keptBy: sessions, interceptor: Idle()) { _ in 404 }.request(url)
        #expect(await idle.finalError?.responseCode == 404)

        let named = Session.scripted(keptBy: sessions, interceptor: Named()) { _ in 404 }.request(url)
        let error = await named.finalError
        #expect(error?.isRequestRetryError == true)
        #expect(named.request?.headers["X-Identity"] == named.id.uuidString)
    }

    @Test("an async adapter that throws ends the request with its error")
    func asyncFailure() async {
        let adapter = Adapter { _, _ in throw Detour() }
        let error = await Session.scripted(keptBy: sessions, interceptor: adapter) { _ in 200 }.request(url).finalError
        #expect(error?.isRequestAdaptationError == true && error?.underlyingError is Detour)
    }
}
