import Fireweed
import FixtureServer
import Foundation
import Synchronization
import Testing

@Suite("Replay of streamed multipart forms", .timeLimit(.minutes(TestTimeouts.minutes)))
struct MultipartReplayTests {
    let server: FixtureServer
    let folder: TemporaryFolder
    let file: URL

    init() throws {
        server = try FixtureServer.start()
        folder = try TemporaryFolder()
        file = folder.file("content.bin")
        try Data((0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }).write(to: file)
    }

    private func upload(_ session: Session, to path: String, user: String? = nil) -> UploadRequest {
        let file = file
        let request = session.upload(
            multipartFormData: { form in
                form.append(Data("Ada".utf8), withName: "name")
                form.append(file, withName: "f")
            }, to: server.url(path), usingThreshold: 0, method: .put)
        if let user { request.authenticate(username: user, password: "secret") }
        return request
    }

    /// The last request came whole and as long as it said.
    private func checkLast(path: String) throws {
        let last = try #require(server.requests.last)
        #expect(last.path == path)
        #expect(last.field("Content-Length") == "\(last.bodyByteCount)" && last.bodyByteCount > 400_000)
        #expect(last.field("Transfer-Encoding") == nil)
    }

    @Test("after a redirect that keeps the content", arguments: [307, 308])
    func redirect(status: Int) async throws {
        let session = Session.isolated()
        let response = await upload(session, to: "/redirect-to?url=/parts&status_code=\(status)").serializingData()
            .response
        #expect(response.error == nil && response.response?.statusCode == 200)
        try checkLast(path: "/parts")
        #expect(server.requests.last?.parts?.map(\.byteCount) == [3, 400_000])
        #expect(server.requests.map(\.bodyChecksum).count == 2)
        #expect(server.requests[0].field("Content-Length") == server.requests[1].field("Content-Length"))
    }

    @Test(
        "after a challenge",
        arguments: [
            "/basic-auth/user/secret", "/digest-auth/auth/user/secret", "/digest-auth/auth/user/secret/SHA-256",
        ])
    func challenge(path: String) async throws {
        let session = Session.isolated()
        for _ in 0..<2 {
            let response = await upload(session, to: path, user: "user").serializingData().response
            #expect(
                response.error == nil && response.response?.statusCode == 200, "\(String(describing: response.error))")
            try checkLast(path: path)
        }
    }

    @Test("with a retry")
    func retry() async throws {
        let attempts = Mutex(0)
        server.route("/flaky") { _ in
            FixtureResponse(
                status: attempts.withLock {
                    $0 += 1; return $0
                } < 3 ? 503 : 200)
        }
        let session = Session.isolated(interceptor: RetryPolicy(retryLimit: 2, exponentialBackoffScale: 0))
        let response = await upload(session, to: "/flaky").validate().serializingData(emptyResponseCodes: [200])
            .response
        #expect(response.error == nil && server.requests.count == 3)
        try checkLast(path: "/flaky")
        #expect(Set(server.requests.map(\.bodyChecksum)).count == 1)
    }

    @Test(
        "a stream among the parts cannot be sent again, and says so",
        arguments: ["/redirect-to?url=/parts&status_code=307", "/basic-auth/user/secret"])
    func stream(path: String) async throws {
        let session = Session.isolated()
        let request = session.upload(
            multipartFormData: { form in
                form.append(
                    InputStream(data: Data(count: 100_000)), withLength: 100_000, name: "s", fileName: "s",
                    mimeType: "x/y")
            }, to: server.url(path), usingThreshold: 0)
        request.authenticate(username: "user", password: "secret")
        let response = await request.serializingData().response
        #expect(response.error?.urlErrorCode == .requestBodyStreamExhausted, "\(String(describing: response.error))")
    }
}
