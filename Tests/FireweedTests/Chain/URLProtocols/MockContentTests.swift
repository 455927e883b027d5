import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("URLProtocol content", .timeLimit(.minutes(TestTimeouts.minutes)))
struct MockContentTests {
    /// A host whose answer is the content of the request.
    private static func echo() throws -> (url: URL, script: MockProtocol.Script) {
        try MockProtocol.host { mock in
            mock.respond()
            if let content = mock.request.readContent() { mock.load(content) }
            mock.finish()
        }
    }

    @Test("the request has the fields of the session, of the request and of adapters, and cookies")
    func fields() async throws {
        let (url, script) = try MockProtocol.host { $0.answer("") }
        let adapter = Adapter { request, _, completion in
            var request = request
            request.setValue("Bearer t", forHTTPHeaderField: "Authorization")
            request.cachePolicy = .reloadIgnoringLocalCacheData
            request.timeoutInterval = 17
            completion(.success(request))
        }
        let session = Session.mocked(interceptor: Interceptor(adapters: [adapter])) { configuration in
            configuration.httpAdditionalHeaders = ["X-Session": "s", "X-Both": "session"]
            let cookie = HTTPCookie(properties: [
                .name: "a", .value: "b", .domain: url.host ?? "", .path: "/",
            ])
            if let cookie { configuration.httpCookieStorage?.setCookie(cookie) }
        }
        _ = await session.request(url, headers: ["X-Own": "o", "X-Both": "own"]).serializingData().response
        let request = try #require(script.requests.all.first)
        let expected = [
            "X-Session": "s", "X-Both": "own", "X-Own": "o", "Authorization": "Bearer t", "Cookie": "a=b",
        ]
        for (name, value) in expected { #expect(request.value(forHTTPHeaderField: name) == value) }
        #expect(request.timeoutInterval == 17 && request.cachePolicy == .reloadIgnoringLocalCacheData)
        #expect(request.httpBody == nil && request.httpBodyStream == nil)
    }

    @Test("content is in httpBodyStream, wherever it comes from")
    func content() async throws {
        let (url, script) = try Self.echo()
        let session = Session.mocked()
        let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
        let file = FileManager.default.temporaryDirectory.appending(path: "mock-\(UUID().uuidString)")
        try bytes.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let sequence = AsyncStream<Data> { continuation in
            continuation.yield(bytes)
            continuation.finish()
        }
        let requests: [(String, DataRequest)] = [
            ("data", session.upload(bytes, to: url)), ("file", session.upload(file, to: url)),
            ("stream", session.upload(InputStream(data: bytes), to: url)),
            ("sequence", session.upload(sequence, to: url)),
        ]
        for (name, request) in requests {
            #expect(await request.serializingData().response.value == bytes, "\(name)")
        }
        let json = session.request(url, method: .post, parameters: ["a": 1], encoder: JSONParameterEncoder.default)
        #expect(await json.serializingString().response.value == #"{"a":1}"#)
        let form = session.upload(multipartFormData: { $0.append(Data("v".utf8), withName: "n") }, to: url)
        #expect(await form.serializingString().response.value?.contains("name=\"n\"\r\n\r\nv\r\n") == true)
        #expect(script.requests.all.allSatisfy { $0.httpBody == nil && $0.httpMethod == "POST" })
    }

    @Test("a class may read the content while it is asked, and again when it is started")
    func readTwice() async throws {
        let lengths = ProtectedList<Int>()
        let (url, _) = try MockProtocol.host(
            canonical: { request in
                lengths.append(request.readContent()?.count ?? -1)
                return request
            },
            start: { mock in
                lengths.append(mock.request.readContent()?.count ?? -1)
                mock.answer("")
            })
        let session = Session.mocked()
        _ = await session.upload(Data("four".utf8), to: url).serializingData().response
        #expect(lengths.all.first == 4 && lengths.all.count == 2)
    }

    @Test("the canonical request is the one that is performed")
    func canonical() async throws {
        let (url, script) = try MockProtocol.host(
            canonical: { request in
                var request = request
                request.url?.append(queryItems: [URLQueryItem(name: "v", value: "2")])
                request.setValue("yes", forHTTPHeaderField: "X-Canonical")
                return request
            }, start: { $0.answer("") })
        let session = Session.mocked()
        _ = await session.request(url).serializingData().response
        let request = try #require(script.requests.all.first)
        #expect(request.url?.query == "v=2" && request.value(forHTTPHeaderField: "X-Canonical") == "yes")
    }

    @Test("many megabytes come whole, to data, files and streams")
    func large() async throws {
        let piece = Data((0..<3_000_001).map { UInt8(truncatingIfNeeded: $0 / 7) })
        let (url, _) = try MockProtocol.host { mock in
            mock.respond(200, ["Content-Length": "\(piece.count * 8)"])
            for _ in 0..<8 { mock.load(piece) }
            mock.finish()
        }
        let whole = (0..<8).reduce(into: Data()) { data, _ in data.append(piece) }
        let session = Session.mocked()
        let request = session.request(url)
        #expect(await request.serializingData().response.value == whole)
        #expect(request.downloadProgress.fractionCompleted == 1)
        let folder = FileManager.default.temporaryDirectory.appending(path: "mock-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let place = folder.appending(path: "whole")
        let download = await session.download(
            url, to: { _, _ in (place, [.createIntermediateDirectories]) }
        ).serializingDownloadedFileURL().response
        #expect(download.value == place && (try? Data(contentsOf: place)) == whole)
        var streamed = Data()
        for await stream in session.streamRequest(url).streamTask().streamingData() {
            if case .success(let data) = stream.result { streamed.append(data) }
        }
        #expect(streamed == whole)
    }

    @Test("a response that is not HTTP's leaves the request without one; its content comes, and a file is made")
    func notHTTP() async throws {
        let (url, _) = try MockProtocol.host { mock in
            let response = URLResponse(
                url: mock.request.url ?? URL(fileURLWithPath: "/"), mimeType: "text/plain", expectedContentLength: 4,
                textEncodingName: "utf-8")
            mock.respond(response)
            mock.load("text")
            mock.finish()
        }
        let session = Session.mocked()
        let response = await session.request(url).validate().serializingString().response
        #expect(response.value == "text" && response.response == nil)
        #expect(await session.download(url).serializingData().response.value == Data("text".utf8))
    }

    @Test("content that comes before the response waits for it; without one it is the content all the same")
    func early() async throws {
        let (late, _) = try MockProtocol.host { mock in
            mock.load("early ")
            mock.answer("late", status: 202)
        }
        let (never, _) = try MockProtocol.host { mock in
            mock.load("alone")
            mock.finish()
        }
        let session = Session.mocked()
        let response = await session.request(late).serializingString().response
        #expect(response.value == "early late" && response.response?.statusCode == 202)
        let other = await session.request(never).serializingString().response
        #expect(other.value == "alone" && other.response == nil)
    }

    @Test("the response is the very object that the mock gave")
    func identity() async throws {
        final class Marked: HTTPURLResponse, @unchecked Sendable {}
        let (url, _) = try MockProtocol.host { mock in
            guard let url = mock.request.url,
                let response = Marked(url: url, statusCode: 200, httpVersion: nil, headerFields: ["A": "b"])
            else { return }
            mock.respond(response)
            mock.finish()
        }
        let session = Session.mocked()
        let response = await session.request(url).serializingData(emptyResponseCodes: [200]).response
        #expect(response.response is Marked)
    }

    private struct Own: Error, Equatable { var number: Int }

    /// The error of a request whose protocol fails with an error.
    private func error(_ given: any Error & Sendable) async throws -> AFError? {
        let (url, _) = try MockProtocol.host { $0.fail(given) }
        let session = Session.mocked()
        return await session.request(url).serializingData().response.error
    }

    @Test("errors keep their type, and those of the URL domain are URLErrors")
    func errors() async throws {
        #expect(try await error(URLError(.timedOut))?.urlErrorCode == .timedOut)
        let bridged = NSError(domain: NSURLErrorDomain, code: NSURLErrorNotConnectedToInternet)
        #expect(try await error(bridged)?.urlErrorCode == .notConnectedToInternet)
        #expect(try await error(Own(number: 7))?.underlyingError as? Own == Own(number: 7))
        let foreign = try await error(NSError(domain: "own", code: 3))?.underlyingError as NSError?
        #expect(foreign?.domain == "own" && foreign?.code == 3)
        #expect(try await error(URLError(.cancelled))?.isSessionTaskError == true)
    }

    @Test("metrics and monitors show a mocked exchange")
    func observation() async throws {
        let (url, _) = try MockProtocol.host { $0.answer("four") }
        let events = ProtectedList<String>()
        let monitor = ClosureEventMonitor(queue: DispatchQueue(label: "monitor"))
        monitor.dataTaskDidReceiveData = { _, _, data in events.append("data \(data.count)") }
        monitor.requestDidFinish = { _ in events.append("finish") }
        let session = Session.mocked(eventMonitors: [monitor])
        let response = await session.request(url).serializingString().response
        monitor.queue.sync {}
        #expect(events.all == ["data 4", "finish"])
        let metrics = try #require(response.metrics?.transactionMetrics.first)
        #expect(metrics.resourceFetchType == .networkLoad && metrics.remoteAddress == nil)
        #expect(metrics.countOfResponseBodyBytesAfterDecoding == 4)
        let dates = [
            metrics.fetchStartDate, metrics.requestStartDate, metrics.responseStartDate, metrics.responseEndDate,
        ].compactMap { $0 }
        #expect(dates.count == 4 && dates == dates.sorted())
    }
}
