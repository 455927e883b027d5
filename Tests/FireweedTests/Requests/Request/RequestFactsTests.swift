import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Properties of a request", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RequestFactsTests {
    let server: FixtureServer
    let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
    }

    @Test("before, while and after it is sent, a request describes itself")
    func description() async throws {
        let request = session.request(server.url("/status/204"), shouldAutomaticallyResume: false)
        #expect(request.description == "No request created yet." && request.request == nil)
        #expect(request.cURLDescription().hasPrefix("$ curl command could not"))
        #expect(request.isInitialized && !request.isResumed && !request.isFinished)
        request.suspend()
        #expect(request.isSuspended)
        let task = request.serializingData()
        request.resume()
        _ = await task.response
        #expect(request.description == "GET \(server.url("/status/204").absoluteString) (204)")
        #expect(request.cURLDescription().hasPrefix("$ curl -v"))
        #expect(request.isFinished && request.state == .finished && request.error == nil)
    }

    @Test("after a redirect, a request describes the message that was answered")
    func descriptionAfterRedirect() async throws {
        let request = session.request(server.url("/redirect/1"))
        _ = await request.serializingData().response
        #expect(request.description == "GET \(server.url("/get").absoluteString) (200)")
        #expect(request.request?.url == server.url("/redirect/1"))
    }

    @Test("the progress of content without a known length has no total, and is not finished before its end")
    func unknownLength() async throws {
        let request = session.request(server.url("/stream-bytes/300000"))
        let queue = DispatchQueue(label: "progress")
        let totals = ProtectedList<Int64>()
        request.downloadProgress(queue: queue) { totals.append($0.totalUnitCount) }
        #expect(request.downloadProgress.totalUnitCount == 0)
        #expect(await request.serializingData().response.data?.count == 300_000)
        queue.sync {}
        #expect(!totals.all.isEmpty && totals.all.allSatisfy { $0 == -1 })
        let progress = request.downloadProgress
        #expect(progress.totalUnitCount == -1 && progress.completedUnitCount == 300_000)
        #expect(progress.isIndeterminate && progress.fractionCompleted == 0)
    }

    @Test("identity is one thing and lasts")
    func identity() {
        let (one, other) = (session.request(server.url("/get")), session.request(server.url("/get")))
        #expect(one == one && one != other && one.id == one.id && one.id != other.id)
        #expect(Set([one, other, one]).count == 2)
    }

    @Test("requests, tasks and metrics grow with adapters, redirects and retries, each in its own way")
    func arrays() async throws {
        let count = ProtectedList<Int>()
        server.route("/flaky") { _ in
            count.append(1)
            return FixtureResponse.text("x", status: count.all.count == 1 ? 503 : 200)
        }
        let interceptor = Interceptor(
            adapters: [Adapter { request, _, done in done(.success(request)) }],
            retriers: [RetryPolicy(exponentialBackoffScale: 0.001)])
        let target = server.url("/flaky").absoluteString
        let request = session.request(server.url("/redirect-to?url=\(target)"), interceptor: interceptor).validate()
        let response = await request.serializingData().response
        #expect(response.error == nil && request.retryCount == 1)
        // Two attempts: each makes an initial and an adapted request, has one task, and metrics of two hops.
        #expect(request.requests.count == 4 && request.tasks.count == 2 && request.allMetrics.count == 2)
        #expect(request.allMetrics.allSatisfy { $0.redirectCount == 1 && $0.transactionMetrics.count == 2 })
        #expect(request.performedRequests.map(\.url?.path) == ["/flaky", "/flaky"])
        #expect(request.firstRequest == request.requests.first && request.lastRequest == request.requests.last)
        #expect(request.firstTask == request.tasks.first && request.task == request.tasks.last)
        #expect(request.firstTask != request.lastTask)
        #expect(request.metrics?.taskInterval == request.allMetrics.last?.taskInterval)
        #expect(request.firstMetrics?.taskInterval == request.allMetrics.first?.taskInterval)
        #expect(request.response?.url?.path == "/flaky" && request.task?.originalRequest?.url?.path == "/redirect-to")
        #expect(request.task?.state == .completed && request.task?.error == nil)
        #expect(request.tasks.map(\.taskIdentifier) == request.tasks.map(\.taskIdentifier).sorted())
    }

    @Test("handlers for requests and tasks get each one, and the last one at once")
    func creation() async throws {
        let count = ProtectedList<Int>()
        server.route("/flaky") { _ in
            count.append(1)
            return FixtureResponse.text("x", status: count.all.count == 1 ? 503 : 200)
        }
        let queue = DispatchQueue(label: "heard")
        let heard = EventNames()
        let request = session.request(
            server.url("/flaky"), interceptor: RetryPolicy(exponentialBackoffScale: 0.001)
        ).validate()
        request.onURLRequestCreation(on: queue) { heard.add("request \($0.httpMethod ?? "")") }
        request.onURLSessionTaskCreation(on: queue) { heard.add("task \($0.taskIdentifier)") }
        request.cURLDescription(on: queue) { heard.add(String($0.prefix(6))) }
        _ = await request.serializingData().response
        queue.sync {}
        #expect(heard.all == ["request GET", "$ curl", "task 1", "request GET", "task 2"])
        request.onURLRequestCreation(on: queue) { _ in heard.add("late request") }
        request.onURLSessionTaskCreation(on: queue) { heard.add("late task \($0.taskIdentifier)") }
        request.cURLDescription(on: queue) { heard.add("late \($0.prefix(6))") }
        queue.sync {}
        #expect(heard.all.suffix(3) == ["late request", "late task 2", "late $ curl"])
    }

    @Test("an eager session makes the URLRequest at once, a lazy one when it is resumed")
    func setup() throws {
        for setup in [Session.RequestSetup.eager, .lazy] {
            let session = Session(
                configuration: .af.ephemeral, startRequestsImmediately: false, requestSetup: setup, eventMonitors: [])
            let request = session.request(server.url("/get"))
            #expect(request.requests.count == (setup == .eager ? 1 : 0) && request.isInitialized)
            #expect((request.task?.state == .suspended) == (setup == .eager))
        }
        #expect(server.connectionCount == 0)
    }

    @Test(
        "the request's own wish wins over the session's when it comes to starting",
        arguments: [(true, nil, true), (false, nil, false), (true, false, false), (false, true, true)]
            as [(Bool, Bool?, Bool)])
    func automaticStart(session starts: Bool, request own: Bool?, expected: Bool) {
        let session = Session.isolated(startRequestsImmediately: starts)
        let request = session.request(server.url("/get"), shouldAutomaticallyResume: own)
        #expect(request.isInitialized, "making a request does not send it")
        request.response { _ in }
        // Once it is sent it may be over at any moment.
        #expect(request.isInitialized != expected && request.shouldAutomaticallyResume == own)
        request.cancel()
    }

    @Test("progress in both directions reaches the end, and a retry starts it over")
    func progress() async throws {
        let count = ProtectedList<Int>()
        server.route("/flaky") { _ in
            count.append(1)
            let isFirst = count.all.count == 1
            return FixtureResponse.text(String(repeating: "x", count: isFirst ? 500 : 300), status: isFirst ? 503 : 200)
        }
        let request = session.upload(
            Data(count: 200_000), to: server.url("/flaky"), method: .put,
            interceptor: RetryPolicy(exponentialBackoffScale: 0.001)
        ).validate()
        let (up, down) = (ProtectedList<Int64>(), ProtectedList<Int64>())
        let queue = DispatchQueue(label: "progress")
        request.uploadProgress(queue: queue) { _ in Issue.record("the last handler set wins") }
        request.uploadProgress(queue: queue) { up.append($0.completedUnitCount) }
        request.downloadProgress(queue: queue) { down.append($0.completedUnitCount) }
        #expect(await request.serializingData().response.data?.count == 300)
        queue.sync {}
        #expect(up.all.last == 200_000 && down.all.last == 300)
        #expect(request.uploadProgress.fractionCompleted == 1 && request.downloadProgress.fractionCompleted == 1)
        #expect(request.uploadProgress.totalUnitCount == 200_000 && request.downloadProgress.totalUnitCount == 300)
    }

    @Test("a retry forgets error and data of the attempt before it")
    func retryResets() async throws {
        let server = try ScriptedServer.start(
            [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfirst"), .close],
            Interrupted.response("200 OK", "2nd"))
        let errors = ProtectedList<AFError?>()
        let retrier = Retrier { request, _, _, completion in
            errors.append(request.error)
            completion(request.retryCount == 0 ? .retry : .doNotRetry)
        }
        let request = session.request(server.url(), interceptor: retrier)
        let response = await request.serializingString().response
        #expect(response.value == "2nd" && response.error == nil && request.error == nil && request.data?.count == 3)
        #expect(errors.all.count == 1 && errors.all.first??.urlErrorCode == .networkConnectionLost)
    }
}
