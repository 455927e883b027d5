import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// Which URLs are sent, and when they are judged.
@Suite("URLs of requests", .timeLimit(.minutes(TestTimeouts.minutes)))
struct RequestURLTests {
    private let server: FixtureServer

    init() throws {
        server = try FixtureServer.start()
    }

    /// Completes relative URLs by a base.
    private struct BaseURL: RequestInterceptor {
        let base: URL

        func adapt(
            _ urlRequest: URLRequest, for session: Session,
            completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void
        ) {
            var request = urlRequest
            request.url = urlRequest.url.flatMap { URL(string: $0.relativeString, relativeTo: base)?.absoluteURL }
            completion(.success(request))
        }
    }

    @Test("a relative URL that an adapter completes is sent", arguments: ["/get?a=1", "get?a=1"])
    func relativeURL(path: String) async throws {
        let base = try #require(URL(string: server.url("/").absoluteString))
        let session = Session.isolated(interceptor: BaseURL(base: base))
        let response = await session.request(path).serializingData().response
        #expect(response.response?.statusCode == 200)
        #expect(response.request?.url?.absoluteString == server.url("/get?a=1").absoluteString)
        let download = await session.download(path).serializingData().response
        #expect(download.response?.statusCode == 200)
    }

    @Test(
        "a URL that has no scheme, or one that is not HTTP's, fails in the task with unsupportedURL",
        arguments: ["/get", "nowhere", "file:///etc/hostname", "ftp://127.0.0.1/x", "data:text/plain,a"])
    func unsupported(url: String) async throws {
        let monitor = RecordingMonitor()
        let session = Session.isolated(eventMonitors: [monitor])
        let request = session.request(url)
        let response = await request.validate().serializingData().response
        guard case .sessionTaskFailed(let error as URLError) = response.error else {
            Issue.record("\(String(describing: response.error))")
            return
        }
        #expect(error.code == .unsupportedURL)
        #expect(response.request?.url?.absoluteString == url && request.task != nil && response.metrics != nil)
        #expect(response.response == nil)
        #expect(monitor.all.contains("task") && monitor.all.contains("task failure"))
        #expect(await session.download(url).serializingData().response.error?.urlErrorCode == .unsupportedURL)
    }

    @Test("schemes are compared without case: HTTP and http are the same", arguments: ["HTTP", "Http", "hTTp"])
    func scheme(scheme: String) async throws {
        let session = Session.isolated()
        let url = scheme + server.url("/redirect-to?url=/get").absoluteString.dropFirst(4)
        let response = await session.request(url).serializingData().response
        #expect(response.response?.statusCode == 200)
        let target = "/redirect-to?url=\(scheme)://127.0.0.1:\(server.port)/get"
        #expect(await session.request(server.url(target)).serializingData().response.response?.statusCode == 200)
        let download = await session.download(url).serializingData().response
        #expect(download.response?.statusCode == 200)
        let cookie = scheme + server.url("/cookies/set?name=value").absoluteString.dropFirst(4)
        let cookies = await session.request(cookie).serializingString().value
        #expect(cookies?.contains("value") == true)
    }
}

extension DataTask {
    /// The value, or `nil` instead of an error.
    fileprivate var value: Value? { get async { try? await result.get() } }
}
