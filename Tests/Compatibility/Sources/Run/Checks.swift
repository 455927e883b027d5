import Alamofire
import App
import Foundation
import OlderApp

/// Each check uses code of the other modules as an app would.
struct Checks: Sendable {
    let server: URL
    let report: Report

    func url(_ path: String) -> URL {
        URL(string: path, relativeTo: server)!.absoluteURL
    }

    func run() async {
        await monitors()
        await sessions()
        await delegates()
        await serializers()
        await olderCode()
        await forms()
        await streams()
        await interceptors()
        await mocks()
        await viewModels()
    }

    private func check(
        _ name: String, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
    ) async {
        report.begin(name)
        do {
            try await body()
        } catch {
            report.expect(false, "\(error)")
        }
    }

    // MARK: Monitors

    private func monitors() async {
        let monitor = EveryEventMonitor()
        do {
            let configuration = URLSessionConfiguration.af.ephemeral
            configuration.urlCache = URLCache(memoryCapacity: 1_000_000, diskCapacity: 0, diskPath: nil)
            let session = Session(configuration: configuration, eventMonitors: [monitor])
            for scenario in MonitorScenario.allCases {
                report.begin("a monitor is notified of \(scenario.rawValue)")
                await scenario.play(session, self)
                for event in scenario.events {
                    report.begin("a monitor hears \(event)")
                    await monitor.heard(event)
                }
            }
        }
        report.begin("a monitor hears that its session has gone")
        await monitor.heard("didBecomeInvalidWithError")
    }

    // MARK: Sessions

    private func sessions() async {
        await check("overridden makers of requests are called") {
            let session = LoggingSession(configuration: .af.ephemeral)
            let echo = try await session.request(
                url("anything"), method: .get, parameters: nil, encoding: URLEncoding.default
            )
            .serializingDecodable(Echo.self).value
            report.expect(echo.headers["X-Logged"] == "yes", "\(echo)")
            _ = await session.request(URLRequest(url: url("anything"))).serializingData().response
            report.expect(
                session.urls == [url("anything").absoluteString, url("anything").absoluteString], "\(session.urls)")
        }
        await check("a session made of a URLSession has its configuration") {
            let session = TenantSession(tenant: "one")
            let echo = try await session.request(url("anything")).serializingDecodable(Echo.self).value
            report.expect(echo.headers["X-Tenant"] == "one", "\(echo)")
            report.expect(session.session.configuration.headers["X-Tenant"] == "one")
        }
        await check("inherited initialisers make a session") {
            let request = Sessions.configured.request(url("anything")).resume()
            report.expect(await request.serializingData().response.error == nil)
            report.expect(!Sessions.configured.startRequestsImmediately && Sessions.plain.startRequestsImmediately)
        }
    }

    private func delegates() async {
        await check("a delegate's overrides are called, and answer challenges") {
            let credential = URLCredential(user: "ada", password: "secret", persistence: .none)
            let delegate = CarefulDelegate(credential: credential)
            let session = Session(configuration: .af.ephemeral, delegate: delegate)
            let response = await session.request(url("basic-auth/ada/secret")).validate().serializingData().response
            report.expect(response.error == nil, "\(response)")
            _ = await session.request(url("redirect/1")).serializingData().response
            _ = await session.upload(Data("x".utf8), to: url("upload")).serializingData().response
            for event in [
                "challenge NSURLAuthenticationMethodHTTPBasic", "redirect 302", "data", "complete", "metrics", "sent",
            ]
            where !delegate.events.contains(event) {
                report.expect(false, "\(event) is missing: \(delegate.events)")
            }
        }
    }

    // MARK: Responses

    private func serializers() async {
        await check("JSON is Any for a handler, for a task and for a wrapper that is generic over serialisers") {
            let keys = await JSONObjects.keys(AF, url("anything"))
            report.expect(keys.count == 3 && keys.allSatisfy { $0.contains("headers") }, "\(keys)")
        }
        await check("an error model that a serialiser throws reaches the handler") {
            let request = AF.request(url("no/such/thing"))
            let response: AFDataResponse<Echo> = await withCheckedContinuation { continuation in
                request.responseOrProblem(of: Echo.self) { continuation.resume(returning: $0) }
            }
            let problem = Problem(error: "no such endpoint", path: "/no/such/thing")
            report.expect(request.problem(in: response.error) == problem, "\(response)")
        }
        await check("a response has two types") {
            let response = await AF.request(url("no/such/thing"))
                .serializingResponse(using: TwoTypeSerializer<Echo, Problem>()).response
            guard case .success(.failure(let problem)) = response.result else {
                return report.expect(false, "\(response)")
            }
            report.expect(problem.error == "no such endpoint")
        }
        await check("an async client decodes") {
            let client = AsyncClient(baseURL: server)
            let echo: Echo = try await client.value(at: "anything")
            report.expect(echo.headers["X-Client"] == "async", "\(echo)")
            report.expect(try await client.all(Echo.self, at: ["anything", "anything"]).count == 2)
        }
        await check("errors have texts") {
            let error = await AF.request(url("status/404")).validate().serializingData().response.error
            report.expect(error.map(text(of:)) == "status 404", "\(error as Any)")
        }
    }

    private func olderCode() async {
        await check("responseJSON gives dictionaries") {
            let json: Bool = await withCheckedContinuation { continuation in
                OldJSON().load(url("anything")) { json, error in
                    let headers = json?["headers"] as? [String: Any]
                    continuation.resume(
                        returning: headers?["Content-Type"] as? String == "application/json" && error == nil)
                }
            }
            report.expect(json)
        }
    }

    private func forms() async {
        await check("a subclassed form is encoded with its own boundary") {
            let form = SignedForm(signature: "abc")
            form.appendStream(Data("stream".utf8))
            let data = try await Forms.send(form, to: url("anything"), through: AF)
            let echo = try JSONDecoder().decode(Echo.self, from: data)
            report.expect(echo.headers["Content-Type"]?.contains("signed-abc") == true, "\(echo)")
        }
        await check("a form's overridden content type is sent") {
            let form = MixedForm(boundary: "mixed")
            form.append(Data("a".utf8), withName: "a")
            let echo = try JSONDecoder().decode(
                Echo.self, from: await Forms.send(form, to: url("anything"), through: AF))
            report.expect(echo.headers["Content-Type"] == "multipart/mixed; boundary=mixed", "\(echo)")
        }
        await check("an encoder above the library's is used") {
            let echo = try await AF.request(
                url("anything"), method: .post, parameters: ["a": "b"], encoder: WrappingJSONEncoder.default
            ).serializingDecodable(Echo.self).value
            report.expect(echo.data == #"{"a":"b"}"#, "\(echo)")
            let wrapped = try await AF.request(
                url("anything"), method: .post, parameters: ["a": "b"], encoder: WrappingJSONEncoder()
            ).serializingDecodable(Echo.self).value
            report.expect(wrapped.data == #"{"data":{"a":"b"}}"#, "\(wrapped)")
        }
    }

    private func streams() async {
        await check("a stream of text arrives whole") {
            let text = try await AsyncLines(session: AF).collect(url("encoding"))
            report.expect(text.contains("Зарегистрируйтесь"), text)
        }
        await check("a continuation is resumed once") {
            let data = try await QueuedClient(session: AF).continued(url("bytes/100000"))
            report.expect(data.count == 100_000)
        }
    }

    private func interceptors() async {
        await check("an interceptor's and a policy's overrides are called") {
            let traces = Log()
            let interceptor = TracingInterceptor { traces.append($0) }
            let response = await AF.request(url("status/503"), interceptor: interceptor).validate().serializingData()
                .response
            report.expect(response.error?.responseCode == 503)
            report.expect(
                traces.all.contains { $0.hasPrefix("adapt") } && traces.all.contains("retry"), "\(traces.all)")
            let request = AF.request(url("status/418"), interceptor: PatientRetryPolicy()).validate()
            _ = await request.serializingData().response
            report.expect(request.retryCount == 3, "\(request.retryCount)")
        }
    }

    private func mocks() async {
        await check("a URLProtocol answers instead of the network") {
            MockURLProtocol.stub(
                "/user",
                with: .init(status: 201, headers: ["X-Mock": "1"], data: Data(#"{"name":"Ada","age":36}"#.utf8)))
            let session = MockURLProtocol.session()
            let response = await session.request("https://mock.example.com/user")
                .serializingDecodable(Profile.self).response
            report.expect(response.value == Profile(name: "Ada", age: 36), "\(response)")
            report.expect(response.response?.statusCode == 201 && response.response?.headers["X-Mock"] == "1")
            withExtendedLifetime(session) {}
        }
    }

    @MainActor private func viewModels() async {
        await check("a view model is called on the main actor") {
            let model = FeedViewModel()
            let count = await withCheckedContinuation { continuation in
                model.refresh(from: url("status/404")) { continuation.resume(returning: $0) }
            }
            report.expect(count == 0)
        }
        await check("an async view model loads") {
            let model = ProfileViewModel(session: AF)
            await model.load(url("status/500"))
            guard case .failed(let error) = model.state else { return report.expect(false, "\(model.state)") }
            report.expect(error.responseCode == 500)
        }
    }
}

/// Lines from several threads.
final class Log: @unchecked Sendable {
    private let lock = NSLock()
    private var lines: [String] = []

    var all: [String] { lock.withLock { lines } }

    func append(_ line: String) {
        lock.withLock { lines.append(line) }
    }
}
