import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// What `/upload` answers.
private struct Uploaded: Decodable, Sendable {
    let byteCount: Int
}

@Suite("Uploads", .timeLimit(.minutes(TestTimeouts.minutes)))
struct UploadRequestTests {
    let server: FixtureServer
    let session = Session.isolated()
    let folder: TemporaryFolder

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
    }

    @Test("bytes of any size arrive whole", arguments: [0, 1, 65536, 65537, 5_000_000])
    func data(count: Int) async throws {
        let data = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
        let value = try await session.upload(data, to: server.url("/upload")).serializingDecodable(Uploaded.self).value
        #expect(value.byteCount == count)
        #expect(server.requests.last?.field("Content-Length") == "\(count)")
        #expect(server.requests.last?.field("Expect") == nil)
    }

    @Test("a file is sent with its length, and its progress reaches the end")
    func file() async throws {
        let file = folder.file("content")
        try Data(count: 3_000_000).write(to: file)
        let request = session.upload(file, to: server.url("/upload"))
        #expect(try await request.serializingDecodable(Uploaded.self).value.byteCount == 3_000_000)
        #expect(server.requests.last?.field("Content-Length") == "3000000")
        #expect(request.uploadProgress.fractionCompleted == 1)
    }

    @Test("a stream is sent in chunks, or with the length that the request announces", arguments: [true, false])
    func stream(hasLength: Bool) async throws {
        let stream = InputStream(data: Data(count: 300_000))
        let headers: HTTPHeaders = hasLength ? ["Content-Length": "300000"] : [:]
        let request = session.upload(stream, to: server.url("/upload"), headers: headers)
        #expect(try await request.serializingDecodable(Uploaded.self).value.byteCount == 300_000)
        let last = try #require(server.requests.last)
        #expect(last.field("Transfer-Encoding") == (hasLength ? nil : "chunked"))
        #expect(last.field("Content-Length") == (hasLength ? "300000" : nil))
    }

    @Test("content is sent again after a 307, and a stream that is gone says so")
    func redirected() async throws {
        let target = server.url("/upload").absoluteString
        let url = server.url("/redirect-to?url=\(target)&status_code=307")
        let again = try await session.upload(Data(count: 100_000), to: url).serializingDecodable(Uploaded.self).value
        #expect(again.byteCount == 100_000)
        let gone = await session.upload(InputStream(data: Data(count: 10)), to: url).serializingData().response
        #expect(gone.error?.urlErrorCode == .requestBodyStreamExhausted)
    }

    @Test("an answer that comes before the content is sent is the response")
    func earlyResponse() async throws {
        let server = try ScriptedServer.start(
            [
                .receiveHead, .send("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n"),
                .hold,
            ])
        let response = await session.upload(Data(count: 50_000_000), to: server.url()).serializingString().response
        #expect(response.response?.statusCode == 413)
        #expect(response.value == "no\n")
    }

    @Test("Expect: 100-continue waits for the go-ahead, and sends nothing after a refusal", arguments: [true, false])
    func expectContinue(isWelcome: Bool) async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        let refusal = "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        let server = try ScriptedServer.start(
            isWelcome
                ? [
                    .receiveHead, .send("HTTP/1.1 100 Continue\r\n\r\n"), .receive(byteCount: 100_000), .send(answer),
                    .hold,
                ]
                : [.receiveHead, .send(refusal), .hold])
        let request = session.upload(
            Data(count: 100_000), to: server.url(), headers: ["Expect": "100-continue"])
        #expect(await request.serializingData().response.response?.statusCode == (isWelcome ? 200 : 417))
    }

    @Test(
        "a form arrives with its fields and files, in memory and straight from its parts",
        arguments: [UInt64(0), 1_000_000])
    func form(threshold: UInt64) async throws {
        let file = folder.file("notes.txt")
        try Data("some notes".utf8).write(to: file)
        let request = session.upload(
            multipartFormData: { form in
                form.append(Data("Ada".utf8), withName: "name")
                form.append(file, withName: "notes")
                form.append(
                    InputStream(data: Data("streamed".utf8)), withLength: 8, name: "s", fileName: "s",
                    mimeType: "text/plain")
            }, to: server.url("/anything"), usingThreshold: threshold)
        let text = try await request.serializingString().value
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        #expect(object?["form"] as? [String: String] == ["name": "Ada"])
        #expect(object?["files"] as? [String: String] == ["notes": "some notes", "s": "streamed"])
        #expect(server.requests.last?.field("Content-Length").flatMap(Int.init) == server.requests.last?.body.count)
    }

    @Test("names can forge neither parameters nor parts")
    func hostileNames() throws {
        let form = MultipartFormData(boundary: "B")
        form.append(Data("x".utf8), withName: "a\"; filename=\"b\r\nX-Y: z", fileName: "\"\n", mimeType: "text/plain")
        let text = String(decoding: try form.encode(), as: UTF8.self)
        #expect(
            text
                == "--B\r\nContent-Disposition: form-data; name=\"a%22; filename=%22b%0D%0AX-Y: z\"; filename=\"%22%0A\"\r\n"
                + "Content-Type: text/plain\r\n\r\nx\r\n--B--\r\n")
    }

    @Test("a peer that closes while we send ends the request, and not the process")
    func peerCloses() async throws {
        let server = try ScriptedServer.start([.receiveHead, .reset])
        let response = await session.upload(Data(count: 50_000_000), to: server.url()).serializingData().response
        #expect(response.error?.urlErrorCode == .networkConnectionLost)
    }

    /// What is uploaded, in each form.
    enum Form: CaseIterable, Sendable {
        case data, file, multipart, streamedMultipart
    }

    private func upload(_ form: Form, to url: URL, interceptor: (any RequestInterceptor)? = nil) throws -> UploadRequest
    {
        let file = folder.file("body.bin")
        try Data(count: 100_000).write(to: file)
        switch form {
        case .data: return session.upload(Data(count: 100_000), to: url, interceptor: interceptor)
        case .file: return session.upload(file, to: url, interceptor: interceptor)
        case .multipart, .streamedMultipart:
            return session.upload(
                multipartFormData: { $0.append(file, withName: "f") }, to: url,
                usingThreshold: form == .multipart ? 1_000_000 : 0, interceptor: interceptor)
        }
    }

    @Test("content is sent again on 307, 308, a challenge and a retry", arguments: Form.allCases)
    func replay(form: Form) async throws {
        let target = server.url("/upload").absoluteString
        for status in [307, 308] {
            let url = server.url("/redirect-to?url=\(target)&status_code=\(status)")
            let value = try await upload(form, to: url).serializingDecodable(Uploaded.self).value
            #expect(value.byteCount >= 100_000)
        }
        let challenged = try upload(form, to: server.url("/digest-auth/auth/user/secret"))
            .authenticate(username: "user", password: "secret")
        let response = await challenged.serializingData(emptyResponseCodes: [200]).response
        #expect(response.response?.statusCode == 200 && response.error == nil)
        #expect((server.requests.last?.bodyByteCount ?? 0) >= 100_000)
        let count = ProtectedList<Int>()
        server.route("/flaky") { request in
            count.append(request.bodyByteCount)
            return .text("x", status: count.all.count == 1 ? 503 : 200)
        }
        let policy = RetryPolicy(exponentialBackoffScale: 0.001, retryableHTTPMethods: [.post])
        let retried = try upload(form, to: server.url("/flaky"), interceptor: policy).validate()
        #expect(await retried.serializingData().response.error == nil)
        #expect(count.all.count == 2 && Set(count.all).count == 1 && (count.all.first ?? 0) >= 100_000)
    }

    /// Content that can be read once.
    enum OneShot: CaseIterable {
        case stream, sequence, form, bodyStream, streamRequest
    }

    @Test("a retry that cannot have its content again does not hide the response", arguments: OneShot.allCases)
    func usedUp(content: OneShot) async throws {
        let policy = RetryPolicy(retryLimit: 1, exponentialBackoffScale: 0.001, retryableHTTPMethods: [.post])
        let session = Session.isolated(interceptor: policy)
        let (url, stream) = (server.url("/status/503"), InputStream(data: Data(count: 10)))
        var plain = try URLRequest(url: url, method: .post)
        let request: Request
        let error: AFError?
        switch content {
        case .stream, .sequence, .form, .bodyStream:
            let data: DataRequest
            switch content {
            case .sequence:
                let pieces = AsyncStream<Data> { continuation in
                    continuation.yield(Data(count: 10))
                    continuation.finish()
                }
                data = session.upload(pieces, to: url)
            case .form:
                data = session.upload(
                    multipartFormData: { form in
                        form.append(stream, withLength: 10, name: "s", fileName: "s", mimeType: "x/y")
                    }, to: url, usingThreshold: 0)
            case .bodyStream:
                plain.httpBodyStream = stream
                data = session.request(plain)
            case .stream, .streamRequest: data = session.upload(stream, to: url)
            }
            request = data
            error = await data.validate().serializingData().response.error
        case .streamRequest:
            let streamed = session.streamRequest(plain, uploading: .stream(stream)).validate()
            request = streamed
            var last: AFError?
            for await event in streamed.streamTask().streamingData() { last = event.completion?.error }
            error = last
        }
        #expect(error?.responseCode == 503, "\(String(describing: error))")
        #expect(request.response?.statusCode == 503 && request.retryCount == 0 && server.requests.count == 1)
    }

    @Test("a stream that is gone says so when a challenge needs it again")
    func goneStream() async throws {
        let challenged = session.upload(
            InputStream(data: Data(count: 100_000)), to: server.url("/digest-auth/auth/user/secret"),
            headers: ["Content-Length": "100000"]
        ).authenticate(username: "user", password: "secret")
        #expect(await challenged.serializingData().response.error?.urlErrorCode == .requestBodyStreamExhausted)
    }

    @Test("a stream of unknown length tells its progress without a total, one of known length with it")
    func streamProgress() async throws {
        let unknown = session.upload(InputStream(data: Data(count: 300_000)), to: server.url("/upload"))
        #expect(try await unknown.serializingDecodable(Uploaded.self).value.byteCount == 300_000)
        #expect(unknown.uploadProgress.completedUnitCount == 300_000 && unknown.uploadProgress.totalUnitCount == -1)
        let known = session.upload(
            InputStream(data: Data(count: 300_000)), to: server.url("/upload"), headers: ["Content-Length": "300000"])
        #expect(try await known.serializingDecodable(Uploaded.self).value.byteCount == 300_000)
        #expect(known.uploadProgress.totalUnitCount == 300_000 && known.uploadProgress.fractionCompleted == 1)
    }

    @Test("a stream that is shorter than announced is an error")
    func shortStream() async throws {
        let request = session.upload(
            InputStream(data: Data(count: 10)), to: server.url("/upload"), headers: ["Content-Length": "20"])
        #expect(await request.serializingData().response.error?.urlErrorCode == .requestBodyStreamExhausted)
    }

    @Test("what an upload is made of can be made again", arguments: Form.allCases)
    func uploadables(form: Form) throws {
        let request = try upload(form, to: server.url("/upload"))
        switch (form, try request.upload.createUploadable()) {
        case (.data, .data(let data)): #expect(data.count == 100_000)
        case (.file, .file(let url, shouldRemove: false)): #expect(url == folder.file("body.bin"))
        case (.multipart, .data(let data)): #expect(data.count > 100_000)
        case (.streamedMultipart, .file(let url, shouldRemove: true)):
            #expect(try Data(contentsOf: url).count > 100_000)
            try FileManager.default.removeItem(at: url.deletingLastPathComponent())
        default: Issue.record("another uploadable")
        }
    }

    @Test("every form of an upload keeps the file manager that it is given")
    func fileManagers() {
        let manager = FileManager()
        let session = Session.isolated(startRequestsImmediately: false)
        let (url, request) = ("http://127.0.0.1:1/", URLRequest(url: URL(fileURLWithPath: "/")))
        let (data, file) = (Data(), URL(fileURLWithPath: "/nowhere"))
        let uploads = [
            session.upload(data, to: url, fileManager: manager),
            session.upload(data, with: request, fileManager: manager),
            session.upload(file, to: url, fileManager: manager),
            session.upload(file, with: request, fileManager: manager),
            session.upload(InputStream(data: data), to: url, fileManager: manager),
            session.upload(InputStream(data: data), with: request, fileManager: manager),
            session.upload(multipartFormData: { _ in }, to: url, fileManager: manager),
            session.upload(multipartFormData: { _ in }, with: request, fileManager: manager),
            session.upload(multipartFormData: MultipartFormData(), to: url, fileManager: manager),
            session.upload(multipartFormData: MultipartFormData(), with: request, fileManager: manager),
        ]
        #expect(uploads.allSatisfy { $0.fileManager === manager })
    }
}
