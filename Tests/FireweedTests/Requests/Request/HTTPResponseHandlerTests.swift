import Dispatch
import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Handlers of a response's head", .timeLimit(.minutes(TestTimeouts.minutes)))
struct HTTPResponseHandlerTests {
    let server: FixtureServer
    let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
    }

    /// The forms in which a handler can be given, each for a request and a decision.
    enum Form: CaseIterable {
        case sync, deciding, async, asyncDeciding
    }

    private func add(
        _ form: Form, _ disposition: Request.ResponseDisposition, to request: DataRequest, _ log: ProtectedList<String>
    ) {
        switch form {
        case .sync: request.onHTTPResponse(on: .global()) { response in log.append("head \(response.statusCode)") }
        case .deciding:
            request.onHTTPResponse(on: .global()) { response, decide in
                log.append("head \(response.statusCode)")
                decide(disposition)
            }
        case .async:
            request.onHTTPResponse { response in
                await Task.yield()
                log.append("head \(response.statusCode)")
            }
        case .asyncDeciding:
            request.onHTTPResponse { response in
                await Task.yield()
                log.append("head \(response.statusCode)")
                return disposition
            }
        }
    }

    private func add(
        _ form: Form, _ disposition: Request.ResponseDisposition, to request: DataStreamRequest,
        _ log: ProtectedList<String>
    ) {
        switch form {
        case .sync: request.onHTTPResponse(on: .global()) { response in log.append("head \(response.statusCode)") }
        case .deciding:
            request.onHTTPResponse(on: .global()) { response, decide in
                log.append("head \(response.statusCode)")
                decide(disposition)
            }
        case .async:
            request.onHTTPResponse { response in
                await Task.yield()
                log.append("head \(response.statusCode)")
            }
        case .asyncDeciding:
            request.onHTTPResponse { response in
                await Task.yield()
                log.append("head \(response.statusCode)")
                return disposition
            }
        }
    }

    @Test("content waits for the handler, whichever form it has", arguments: Form.allCases, ["data", "stream"])
    func allowed(form: Form, kind: String) async throws {
        let log = ProtectedList<String>()
        if kind == "data" {
            let request = session.request(server.url("/bytes/100000"))
            add(form, .allow, to: request, log)
            #expect(await request.serializingData().response.data?.count == 100_000)
        } else {
            let request = session.streamRequest(server.url("/bytes/100000"))
            add(form, .allow, to: request, log)
            for await stream in request.streamTask().streamingData() {
                if stream.value != nil, log.all.last != "content" { log.append("content") }
            }
            #expect(log.all == ["head 200", "content"])
        }
        #expect(log.all.first == "head 200")
    }

    @Test("a handler may refuse the content", arguments: [Form.deciding, .asyncDeciding], ["data", "stream"])
    func cancelled(form: Form, kind: String) async throws {
        let log = ProtectedList<String>()
        let error: AFError?
        if kind == "data" {
            let request = session.request(server.url("/drip?bytes=100&duration=60"))
            add(form, .cancel, to: request, log)
            error = await request.serializingData().response.error
        } else {
            let request = session.streamRequest(server.url("/drip?bytes=100&duration=60"))
            add(form, .cancel, to: request, log)
            var end: AFError?
            for await stream in request.streamTask().streamingData() {
                #expect(stream.value == nil)
                end = stream.completion?.error
            }
            error = end
        }
        #expect(error?.isExplicitlyCancelledError == true)
        #expect(log.all == ["head 200"])
        try await server.events.next(.connectionClosed)
    }

    @Test("cancelling while an async handler thinks ends the request without it")
    func cancelledMeanwhile() async throws {
        let (heads, continuation) = AsyncStream<Void>.makeStream()
        let (answers, answer) = AsyncStream<Void>.makeStream()
        let request = session.request(server.url("/bytes/10")).onHTTPResponse { _ in
            continuation.yield()
            for await _ in answers { break }
            return .allow
        }
        let awaited = request.serializingData()
        for await _ in heads { break }
        request.cancel()
        #expect(await awaited.response.error?.isExplicitlyCancelledError == true)
        answer.yield()
    }

    @Test("a closure without await is the form with a queue, the main one unless said otherwise")
    func plainClosure() async throws {
        // The main queue, not the main thread: a process with tasks lets any thread drain it.
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        let isMain = ProtectedList<Bool>()
        let request = session.request(server.url("/get")).onHTTPResponse { response in
            isMain.append(DispatchQueue.getSpecific(key: key) == true && response.statusCode == 200)
        }
        #expect(await request.serializingData().response.error == nil)
        #expect(isMain.all == [true])
        let stream = session.streamRequest(server.url("/get")).onHTTPResponse { _, decide in decide(.allow) }
        for await _ in stream.streamTask().streamingData() {}
        #expect(stream.error == nil)
    }
}
