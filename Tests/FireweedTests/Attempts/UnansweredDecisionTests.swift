import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Decisions that nobody takes", .timeLimit(.minutes(Patience.minutes)))
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
            }, cachedResponseHandler: handler, responseStore: MemoryResponseStore())
    }

    /// The error of a request that is cancelled when somebody has been asked about it.
    ///
    /// - Parameter session: held until the request has ended.
    private func error(ofCancelling request: DataRequest, of session: Session) async -> AFError? {
        request.response { [noteAsked] _ in noteAsked.finish() }  // nobody waits for a question that never comes
        async let response = request.serializingData().response
        for await _ in asked { break }
        request.cancel()
        let error = await response.error
        return withExtendedLifetime(session) { error }
    }

    @Test("a request that waits for a cached-response handler can be cancelled")
    func storing() async {
        let session = session(200, storing: SilentHandler(noteAsked: noteAsked))
        let request = session.request("http://a.test/")
        #expect(await error(ofCancelling: request, of: session)?.isExplicitlyCancelledError == true)
    }

    @Test("a request that waits for its response handler can be cancelled")
    func response() async {
        let session = session(200)
        let request = session.request("http://a.test/").onHTTPResponse { [noteAsked] _, _ in noteAsked.yield(true)
        }
        #expect(await error(ofCancelling: request, of: session)?.isExplicitlyCancelledError == true)
    }

    @Test("a request that waits for its redirect handler can be cancelled")
    func redirect() async {
        let session = session(302)
        let request = session.request("http://a.test/").redirect(using: SilentHandler(noteAsked: noteAsked))
        #expect(await error(ofCancelling: request, of: session)?.isExplicitlyCancelledError == true)
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
