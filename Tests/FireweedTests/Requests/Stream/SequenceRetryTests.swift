import Fireweed
import FireweedTesting
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// What sequences of a stream's content get where an attempt fails and another one may follow.
@Suite("Sequences and retries", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SequenceRetryTests {
    private static let whole = "HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{\"n\":1}\n{\"n\":2}\n{}"
    private static let cut = "HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{\"n\":1}\n{\"n"

    struct Value: Decodable, Sendable { var n: Int? }

    enum Form: CaseIterable { case content, lines, values, pieces, strings, input }

    /// Everything that a sequence gives, as one text, and the request's error.
    private func read(_ form: Form, of request: DataStreamRequest) async -> (text: String, error: AFError?) {
        var text = ""
        do throws(AFError) {
            switch form {
            case .content: for try await piece in request.content() { text += String(decoding: piece, as: UTF8.self) }
            case .lines: for try await line in request.lines() { text += line + "\n" }
            case .values: for try await value in request.jsonLines(of: Value.self) { text += "\(value.n ?? 0)" }
            case .pieces:
                for await event in request.streamTask().streamingData() {
                    text += String(decoding: event.value ?? Data(), as: UTF8.self)
                    if let error = event.completion?.error { throw error }
                }
            case .strings:
                for await event in request.streamTask().streamingStrings() {
                    text += event.value ?? ""
                    if let error = event.completion?.error { throw error }
                }
            case .input:
                let (data, error) = await input(of: request)
                text = String(decoding: data, as: UTF8.self)
                if let error { throw error }
            }
            return (text, nil)
        } catch {
            return (text, error)
        }
    }

    /// What an `InputStream` gives, on a thread of its own, since reading waits.
    private func input(of request: DataStreamRequest) async -> (Data, AFError?) {
        nonisolated(unsafe) let input = request.asInputStream()  // handed over to the thread
        return await withCheckedContinuation { continuation in
            Thread {
                input?.open()
                var data = Data()
                var buffer = [UInt8](repeating: 0, count: 4_096)
                while let count = input?.read(&buffer, maxLength: buffer.count), count > 0 {
                    data.append(contentsOf: buffer[..<count])
                }
                continuation.resume(returning: (data, input?.streamError as? AFError))
            }.start()
        }
    }

    /// Requests end with their session.
    private let sessions = ProtectedList<Session>()

    private func session(_ monitors: [any EventMonitor] = []) -> Session {
        let session = Session.isolated(
            interceptor: RetryPolicy(exponentialBackoffScale: 0), eventMonitors: monitors)
        sessions.append(session)
        return session
    }

    @Test("content that is cut comes once, and ends with the error; no retrier is asked", arguments: Form.allCases)
    func cut(form: Form) async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send(Self.cut), .close], [.receiveHead, .send(Self.whole), .close])
        let request = session().streamRequest(server.url())
        let outcome = await read(form, of: request)
        let first: [Form: String] = [.lines: "{\"n\":1}\n", .values: "1"]
        #expect(outcome.text == first[form] ?? "{\"n\":1}\n{\"n")
        #expect(outcome.error?.urlErrorCode == .networkConnectionLost && request.retryCount == 0)
    }

    @Test("a response that ends before its content is retried, unseen", arguments: Form.allCases)
    func cutBeforeContent(form: Form) async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n"), .close],
            [.receiveHead, .send(Self.whole), .close])
        let request = session().streamRequest(server.url())
        let outcome = await read(form, of: request)
        let all: [Form: String] = [.lines: "{\"n\":1}\n{\"n\":2}\n{}\n", .values: "120"]
        #expect(outcome.text == all[form] ?? "{\"n\":1}\n{\"n\":2}\n{}")
        #expect(outcome.error == nil && request.retryCount == 1)
    }

    @Test("a response that is refused is retried, unseen, and its validator runs once", arguments: Form.allCases)
    func refused(form: Form) async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 503 No\r\nContent-Length: 5\r\n\r\nlater"), .close],
            [.receiveHead, .send(Self.whole), .close])
        let (calls, told) = (ProtectedList<Int>(), ProtectedList<Bool>())
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "validations"))
        monitor.requestDidValidateRequestResponseWithResult = { _, _, _, result in
            told.append((try? result.get()) != nil)
        }
        let request = session([monitor]).streamRequest(server.url()).validate { _, response in
            calls.append(response.statusCode)
            return response.statusCode == 200
                ? .success(())
                : .failure(AFError.responseValidationFailed(reason: .unacceptableStatusCode(code: response.statusCode)))
        }
        let outcome = await read(form, of: request)
        let all: [Form: String] = [.lines: "{\"n\":1}\n{\"n\":2}\n{}\n", .values: "120"]
        #expect(outcome.text == all[form] ?? "{\"n\":1}\n{\"n\":2}\n{}")
        #expect(outcome.error == nil && request.retryCount == 1)
        monitor.queue.sync {}
        #expect(calls.all == [503, 200] && told.all == [false, true])
    }

    @Test("a sequence that comes after the head gets nothing of a response that is refused")
    func late() async throws {
        let server = try ScriptedServer.start([
            .receiveHead, .send("HTTP/1.1 404 No\r\nContent-Length: 6\r\n\r\none"), .wait(for: "go"), .send("two"),
            .close,
        ])
        let request = session().streamRequest(server.url()).validate(statusCode: 200..<300)
        let (pieces, piece) = AsyncStream<Data>.makeStream()
        request.responseStream(on: .global()) { if let data = $0.value { piece.yield(data) } }
        for await _ in pieces { break }
        var lines = request.content().makeAsyncIterator()
        server.signal("go")
        let error = await #expect(throws: AFError.self) {
            while let text = try await lines.next() { Issue.record("\(text)") }
        }
        #expect(error?.responseCode == 404)
    }

    @Test("a content type that is not accepted is no error of a response without content")
    func noContent() async throws {
        let session = Session.stubbed { Stub.any().reply(.text("", contentType: "text/html")) }
        let request = session.streamRequest("https://service.example/").validate(contentType: ["text/plain"])
        let outcome = await read(.lines, of: request)
        #expect(outcome.text.isEmpty && outcome.error == nil)
    }

    @Test("a handler gets the content of every attempt, as with Alamofire")
    func handler() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\none"), .close],
            [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo"), .close])
        let session = session()
        let text = ProtectedList<String>()
        await withCheckedContinuation { continuation in
            session.streamRequest(server.url()).responseStreamString(on: DispatchQueue(label: "pieces")) { stream in
                if let value = stream.value { text.append(value) }
                if stream.completion != nil { continuation.resume() }
            }
        }
        #expect(text.all == ["one", "two"])
    }
}
