import Dispatch
import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Synchronization
import Testing

/// Keeps the completion of the first call and calls it in the second one, before the second one's own.
private final class LateInterceptor: RequestInterceptor {
    private let kept = Mutex<(@Sendable (Result<URLRequest, any Error>) -> Void)?>(nil)
    private let keptRetry = Mutex<(@Sendable (RetryResult) -> Void)?>(nil)

    func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
    ) {
        let late = kept.withLock { kept in
            defer { kept = completion }
            return kept
        }
        var stale = urlRequest
        stale.headers.update(name: "X-Way", value: "late")
        late?(.success(stale))
        completion(.success(urlRequest))
    }

    func retry(
        _ request: Request, for session: Session, dueTo error: any Error,
        completion: @escaping @Sendable (RetryResult) -> Void
    ) {
        let late = keptRetry.withLock { kept in
            defer { kept = completion }
            return kept
        }
        late?(.retry)
        completion(request.retryCount == 0 ? .retry : .doNotRetry)
    }
}

/// Completes twice: with the redirect, and with another place.
private struct TwofoldRedirector: RedirectHandler {
    func task(
        _ task: URLSessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completion(request)
        var other = request
        other.url = URL(string: "https://service.example/other")
        completion(other)
    }
}

@Suite("Completions that are called again", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RepeatedCompletionTests {
    private let sessions = ProtectedList<Session>()
    private let url = "https://service.example/"

    @Test("an adapter that completes twice makes one request message")
    func adapter() async {
        let adapter = Adapter { request, _, completion in
            completion(.success(request))
            completion(.success(request))
        }
        let request = Session.scripted(keptBy: sessions, interceptor: adapter) { _ in 204 }.request(url)
        #expect(await request.finalError == nil)
        #expect(request.requests.count == 2 && request.tasks.count == 1)
    }

    @Test("in an Interceptor, an adapter that completes twice does not make the next adapter run twice")
    func chain() async {
        let asked = ProtectedList<Int>()
        let twice = Adapter { request, _, completion in
            completion(.success(request))
            completion(.success(request))
        }
        let counter = Adapter { request, _, completion in
            asked.append(1)
            completion(.success(request))
        }
        let session = Session.scripted(
            keptBy: sessions, interceptor: Interceptor(adapters: [twice, counter])
        ) { _ in 204 }
        #expect(await session.request(url).finalError == nil)
        #expect(asked.all.count == 1)
    }

    @Test("a completion of an earlier attempt changes nothing in a later one")
    func late() async {
        let ways = ProtectedList<String?>()
        let session = Session.scripted(keptBy: sessions, interceptor: LateInterceptor()) { message in
            ways.append(message.fields.fields.first { $0.name == "X-Way" }?.value)
            return 503
        }
        let request = session.request(url)
        #expect(await request.finalError?.responseCode == 503)
        #expect(request.retryCount == 1 && ways.all == [nil, nil])
    }

    @Test("an adapter and a retrier that complete on two threads at the same time: every request ends")
    func race() async {
        let interceptor = Interceptor(
            adapters: [
                Adapter { request, _, completion in
                    DispatchQueue.concurrentPerform(iterations: 2) { _ in completion(.success(request)) }
                }
            ],
            retriers: [
                Retrier { request, _, _, completion in
                    let result = request.retryCount == 0 ? RetryResult.retry : .doNotRetry
                    DispatchQueue.concurrentPerform(iterations: 2) { _ in completion(result) }
                }
            ])
        let session = Session.scripted(keptBy: sessions, interceptor: interceptor) { _ in 503 }
        await withTaskGroup { group in
            for _ in 0..<1000 {
                group.addTask { [url] in
                    let request = session.request(url)
                    #expect(await request.finalError?.responseCode == 503)
                    #expect(request.retryCount == 1 && request.requests.count == 4)
                }
            }
        }
    }

    @Test("a redirect handler that completes twice: the first answer is followed, once")
    func redirect() async {
        let paths = ProtectedList<String>()
        let session = Session.scripted(keptBy: sessions) { message -> [ScriptedTransport.Action] in
            paths.append(message.url)
            let isFirst = message.url == "https://service.example/"
            let fields = isFirst ? [Field(name: "Location", value: "/next")] : []
            return [.head(ResponseHead(status: isFirst ? 302 : 204, fields: fields))]
        }
        let request = session.request(url).redirect(using: TwofoldRedirector())
        #expect(await request.finalError == nil)
        #expect(paths.all == [url, "https://service.example/next"])
    }

    @Test("a handler of the head that allows and then cancels has allowed")
    func head() async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated()
        let request = session.request(server.url("/bytes/100"))
            .onHTTPResponse(on: .global()) { _, decide in
                decide(.allow)
                decide(.cancel)
            }
        let response = await request.serializingData().response
        #expect(response.error == nil && response.data?.count == 100 && !request.isCancelled)
    }
}
