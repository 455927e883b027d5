import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

private struct Refusal: Error {}

/// One handler's failure, and what a retrier says of it.
@Suite("Failures of single handlers", .timeLimit(.minutes(TestTimeouts.minutes)))
struct HandlerFailureTests {
    private let server: FixtureServer
    private let asked = ProtectedList<String>()
    private let queue = DispatchQueue(label: "handlers")

    init() throws {
        server = try FixtureServer.start()
    }

    private func session(answering result: RetryResult) -> Session {
        let asked = asked
        return Session.isolated(
            interceptor: Retrier { _, _, error, completion in
                let isSerialisation = error.asAFError?.isResponseSerializationError == true
                asked.append(isSerialisation ? "serialisation" : "task")
                completion(result)
            })
    }

    @Test("an error that a retrier gives for one handler's failure goes to that handler alone")
    func errorOfOneHandler() async throws {
        let session = session(answering: .doNotRetryWithError(Refusal()))
        let request = session.request(server.url("/bytes/10?seed=1"))
        async let decoded = request.serializingDecodable([String].self).response
        async let data = request.serializingData().response
        let (first, second) = await (decoded, data)
        #expect(first.error?.isRequestRetryError == true && first.error?.underlyingError is Refusal)
        #expect(second.value?.count == 10)
        #expect(request.error == nil && asked.all == ["serialisation"])
    }

    @Test("retriers are asked for the task, and for every serialiser that fails")
    func questions() async throws {
        let session = session(answering: .doNotRetry)
        let request = session.request(server.url("/status/500")).validate()
        let handled = ProtectedList<AFError?>()
        await withCheckedContinuation { continuation in
            request.responseDecodable(of: [String].self, queue: queue) { handled.append($0.error) }
                .response(queue: queue) { handled.append($0.error) }
                .responseString(queue: queue) { handled.append($0.error) }
                .response(queue: queue) { _ in continuation.resume() }
        }
        #expect(handled.all.map { $0?.responseCode } == [500, 500, 500])
        #expect(asked.all == ["task", "task", "task"])
    }

    @Test("a retry that was granted for one handler's failure serialises for all handlers again")
    func retryForOneHandler() async throws {
        let session = Session.isolated(
            interceptor: Retrier { request, _, _, completion in
                completion(request.retryCount == 0 ? .retry : .doNotRetry)
            })
        let count = ProtectedList<Int>()
        server.route("/second") { _ in
            count.append(1)
            return FixtureResponse.text(count.all.count == 1 ? "broken" : "[\"whole\"]")
        }
        let request = session.request(server.url("/second"))
        async let text = request.serializingString().value
        async let decoded = request.serializingDecodable([String].self).value
        let values = try await (text, decoded)
        #expect(values.0 == "[\"whole\"]" && values.1 == ["whole"])
        #expect(request.retryCount == 1)
    }

    @Test("progress handlers on the queue of a response handler are called before it")
    func progressComesFirst() async throws {
        let session = Session.isolated()
        for _ in 0..<20 {
            let heard = ProtectedList<String>()
            await withCheckedContinuation { continuation in
                session.upload(Data(count: 200_000), to: server.url("/anything"))
                    .uploadProgress(queue: queue) { _ in heard.append("upload") }
                    .downloadProgress(queue: queue) { _ in heard.append("download") }
                    .response(queue: queue) { _ in
                        heard.append("response")
                        queue.async { continuation.resume() }
                    }
            }
            #expect(heard.all.last == "response" && heard.all.contains("upload"))
        }
    }

    @Test("the handler of resume data is called before the response's on the same queue")
    func resumeDataComesFirst() async throws {
        let session = Session(
            configuration: .af.ephemeral, rootQueue: queue, serializationQueue: DispatchQueue(label: "serialisation"),
            eventMonitors: [])
        for _ in 0..<20 {
            let heard = ProtectedList<String>()
            let request = session.download(server.url("/drip?duration=30&numbytes=1000000"))
            await withCheckedContinuation { continuation in
                request.response(queue: queue) { _ in
                    heard.append("response")
                    queue.async { continuation.resume() }
                }
                request.cancel { _ in heard.append("resume data") }
            }
            #expect(heard.all == ["resume data", "response"])
        }
    }
}
