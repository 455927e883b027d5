import Dispatch
import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Unanswered decisions", .timeLimit(.minutes(TestTimeouts.minutes)))
struct UnansweredDecisionTests {
    private let asked: AsyncStream<Bool>
    private let noteAsked: AsyncStream<Bool>.Continuation

    init() {
        (asked, noteAsked) = AsyncStream.makeStream()
    }

    private func session(_ status: Int, storing handler: (any CachedResponseHandler)? = nil) -> Session {
        let fields = [Field(name: "Location", value: "/new"), Field(name: "Cache-Control", value: "max-age=60")]
        return Session(
            transport: ScriptedTransport { _ in
                [.head(ResponseHead(status: status, fields: fields)), .content(Data("one".utf8))]
            }, cachedResponseHandler: handler, options: SessionOptions(responseStore: MemoryResponseStore()))
    }

    /// The error of a request that is cancelled when somebody has been asked about it.
    private func error(
        in session: Session, ofCancelling make: (Session) -> DataRequest
    ) async -> AFError? {
        let request = make(session)
        async let response = request.serializingData().response
        for await _ in asked { break }
        request.cancel()
        let error = await response.error
        // A session that is released ends its requests.
        return withExtendedLifetime(session) { error }
    }

    @Test("a request that waits for a cached-response handler can be cancelled")
    func storing() async {
        let session = session(200, storing: SilentHandler(noteAsked: noteAsked))
        let error = await error(in: session) { $0.request("http://a.test/") }
        #expect(error?.isExplicitlyCancelledError == true)
    }

    @Test("a request that waits for its response handler can be cancelled")
    func response() async {
        let queue = DispatchQueue(label: "decisions")
        let error = await error(in: session(200)) { session in
            session.request("http://a.test/").onHTTPResponse(on: queue) { [noteAsked] _, _ in noteAsked.yield(true) }
        }
        #expect(error?.isExplicitlyCancelledError == true)
    }

    @Test("a request that waits for its redirect handler can be cancelled")
    func redirect() async {
        let error = await error(in: session(302)) { session in
            session.request("http://a.test/").redirect(using: SilentHandler(noteAsked: noteAsked))
        }
        #expect(error?.isExplicitlyCancelledError == true)
    }
}

/// Never calls a completion.
private struct SilentHandler: CachedResponseHandler, RedirectHandler {
    let noteAsked: AsyncStream<Bool>.Continuation

    func dataTask(
        _ task: URLSessionDataTask, willCacheResponse response: CachedURLResponse,
        completion: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        noteAsked.yield(true)
    }

    func task(
        _ task: URLSessionTask, willBeRedirectedTo request: URLRequest, for response: HTTPURLResponse,
        completion: @escaping @Sendable (URLRequest?) -> Void
    ) {
        noteAsked.yield(true)
    }
}
