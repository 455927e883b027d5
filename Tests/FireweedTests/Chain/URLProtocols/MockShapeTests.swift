import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("URLProtocol mocks of apps", .timeLimit(.minutes(TestTimeouts.minutes)), .serialized)
struct MockShapeTests {
    private struct User: Codable, Equatable, Sendable { var name: String }

    /// The mock of many tutorials: one static closure for all requests.
    private final class HandlerMock: URLProtocol {
        nonisolated(unsafe) static var requestHandler: ((URLRequest) throws -> (HTTPURLResponse, Data))?

        override class func canInit(with request: URLRequest) -> Bool { true }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

        override func startLoading() {
            do {
                guard let handler = Self.requestHandler else { throw URLError(.unknown) }
                let (response, data) = try handler(request)
                client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
                client?.urlProtocol(self, didLoad: data)
                client?.urlProtocolDidFinishLoading(self)
            } catch {
                client?.urlProtocol(self, didFailWithError: error)
            }
        }

        override func stopLoading() {}
    }

    /// The mock of Mocker and its like: a dictionary of answers by URL, given late, and taken back by `stopLoading`.
    private final class DictionaryMock: URLProtocol {
        struct Answer { var status: Int, data: Data, delay: DispatchTimeInterval? }

        nonisolated(unsafe) static var answers: [URL: Answer] = [:]
        private var work: DispatchWorkItem?

        override class func canInit(with request: URLRequest) -> Bool {
            request.url.map { answers[$0] != nil } ?? false
        }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool { false }

        override func startLoading() {
            guard let url = request.url, let answer = Self.answers[url],
                let response = HTTPURLResponse(url: url, statusCode: answer.status, httpVersion: nil, headerFields: nil)
            else { return }
            let work = DispatchWorkItem { [self] in
                client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .allowed)
                client?.urlProtocol(self, didLoad: answer.data)
                client?.urlProtocolDidFinishLoading(self)
            }
            self.work = work
            guard let delay = answer.delay else { return work.perform() }
            DispatchQueue.global().asyncAfter(deadline: .now() + delay, execute: work)
        }

        override func stopLoading() { work?.cancel() }
    }

    /// Answers from a timer on the run loop of the thread that starts it.
    private final class TimerMock: URLProtocol {
        override class func canInit(with request: URLRequest) -> Bool { true }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        private var timer: Timer?

        override func startLoading() {
            nonisolated(unsafe) let loader = self
            timer = Timer.scheduledTimer(withTimeInterval: 0.01, repeats: false) { _ in
                loader.client?.urlProtocol(loader, didFailWithError: URLError(.dataNotAllowed))
            }
        }

        override func stopLoading() { timer?.invalidate() }
    }

    /// Decides by the task, and answers with the content that the task's request has.
    private final class TaskMock: URLProtocol {
        override class func canInit(with task: URLSessionTask) -> Bool {
            task.originalRequest?.url?.host == "task.invalid" && task.currentRequest?.httpBody == nil
        }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest {
            var request = request
            request.setValue("1", forHTTPHeaderField: "X-Canonical")
            return request
        }

        override func startLoading() {
            let fields = [
                "X-Task": "\(task?.taskIdentifier ?? 0)",
                "X-Canonical": request.value(forHTTPHeaderField: "X-Canonical") ?? "0",
                "X-Original": task?.originalRequest?.value(forHTTPHeaderField: "X-Canonical") ?? "0",
            ]
            guard let url = request.url,
                let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: fields)
            else { return }
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            client?.urlProtocol(self, didLoad: task?.originalRequest?.httpBody ?? Data())
            client?.urlProtocolDidFinishLoading(self)
        }

        override func stopLoading() {}
    }

    @Test("a protocol has the request's task, with the request as it was made; its own request is the canonical one")
    func task() async throws {
        let session = Session.mocked(by: [TaskMock.self])
        let request = session.request(
            "https://task.invalid/", method: .post, parameters: ["a": "b"], encoder: JSONParameterEncoder.default)
        let response = await request.serializingString().response
        #expect(response.value == #"{"a":"b"}"#)
        let headers = response.response?.headers
        #expect(headers?["X-Task"] == "\(request.task?.taskIdentifier ?? -1)")
        #expect(headers?["X-Canonical"] == "1" && headers?["X-Original"] == "0")
    }

    enum Base: CaseIterable {
        case ephemeral, standard, extended

        var configuration: URLSessionConfiguration {
            switch self {
            case .ephemeral: .ephemeral
            case .standard: .default
            case .extended: .af.default
            }
        }
    }

    @Test(
        "one static closure answers, whatever the configuration is made from", arguments: Base.allCases, [true, false])
    func handler(base: Base, isInserted: Bool) async throws {
        let configuration = base.configuration
        if isInserted {
            configuration.protocolClasses?.insert(HandlerMock.self, at: 0)
        } else {
            configuration.protocolClasses = [HandlerMock.self]
        }
        HandlerMock.requestHandler = { request in
            #expect(request.httpMethod == "GET" && request.value(forHTTPHeaderField: "X-Own") == "1")
            let response = HTTPURLResponse(
                url: try #require(request.url), statusCode: 201, httpVersion: "HTTP/2",
                headerFields: ["Content-Type": "application/json", "X-Mock": "yes"])
            return (try #require(response), try JSONEncoder().encode(User(name: "Ada")))
        }
        let session = Session(configuration: configuration)
        let response = await session.request("https://api.invalid/user", headers: ["X-Own": "1"]).validate()
            .serializingDecodable(User.self).response
        #expect(response.value == User(name: "Ada"))
        #expect(response.response?.statusCode == 201 && response.response?.headers["X-Mock"] == "yes")
    }

    @Test("an error that the closure throws is the request's error")
    func handlerThrows() async throws {
        HandlerMock.requestHandler = { _ in throw URLError(.notConnectedToInternet) }
        let session = Session.mocked(by: [HandlerMock.self])
        let error = await session.request("https://api.invalid/").serializingData().response.error
        #expect(error?.isSessionTaskError == true && error?.urlErrorCode == .notConnectedToInternet)
    }

    @Test("a dictionary of answers, at once and late; the network has what is not in it")
    func dictionary() async throws {
        let server = try FixtureServer.start()
        let base = "https://dictionary.invalid/"
        for (path, delay) in [("now", nil), ("late", DispatchTimeInterval.milliseconds(20))] {
            let url = try #require(URL(string: base + path))
            DictionaryMock.answers[url] = .init(status: 200, data: Data(path.utf8), delay: delay)
        }
        let session = Session.mocked(by: [DictionaryMock.self])
        async let late = session.request(base + "late").serializingString().value
        async let now = session.request(base + "now").serializingString().value
        #expect(try await late == "late")
        #expect(try await now == "now")
        let fetched = try await session.request(server.url("/anything")).serializingDecodable(Anything.self).value
        #expect(fetched.method == "GET")
    }

    @Test("a timer that is scheduled in startLoading fires")
    func timer() async {
        let session = Session.mocked(by: [TimerMock.self])
        let error = await session.request("https://timer.invalid/").serializingData().response.error
        #expect(error?.urlErrorCode == .dataNotAllowed)
    }

    @Test("the first class that takes a request performs it, and Foundation's own classes do not count")
    func order() async throws {
        let (url, script) = try MockProtocol.host { $0.answer("first") }
        HandlerMock.requestHandler = { _ in throw URLError(.unknown) }
        let own = URLSessionConfiguration.default.protocolClasses ?? []
        let session = Session.mocked(by: own + [MockProtocol.self, HandlerMock.self])
        #expect(await session.request(url).serializingString().response.value == "first")
        #expect(script.events.all.prefix(2) == ["asked", "started"])
    }
}
