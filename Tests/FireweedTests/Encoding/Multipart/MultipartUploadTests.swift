import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// Forms on their way into a request.
@Suite("Uploads of forms", .timeLimit(.minutes(TestTimeouts.minutes)))
struct MultipartUploadTests {
    private let server: FixtureServer
    private let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
    }

    @Test(
        "a form that cannot be encoded fails as multipartEncodingFailed, and no request is made",
        arguments: [0, 1_000_000])
    func failure(threshold: UInt64) async throws {
        let monitor = RecordingMonitor()
        let session = Session.isolated(eventMonitors: [monitor])
        let missing = URL(fileURLWithPath: "/nowhere/missing.txt")
        let error = await session.upload(
            multipartFormData: { $0.append(missing, withName: "file") }, to: server.url("/anything"),
            usingThreshold: threshold
        ).serializingData().response.error
        guard case .multipartEncodingFailed(.bodyPartFileNotReachableWithError(let url, _)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(url == missing && error?.isMultipartEncodingError == true)
        #expect(monitor.all == ["resume", "initial", "no uploadable", "finish", "parse"])
    }

    @Test("a stream that has more bytes than its part gives its beginning", arguments: [0, 1_000_000])
    func longStream(threshold: UInt64) async throws {
        let stream = InputStream(data: Data("beginning and rest".utf8))
        let response = await session.upload(
            multipartFormData: {
                $0.append(stream, withLength: 9, headers: [.contentDisposition("form-data; name=\"text\"")])
                $0.append(Data("after".utf8), withName: "next")
            }, to: server.url("/anything"), usingThreshold: threshold
        ).serializingDecodable(Anything.self).response
        #expect(response.value?.form == ["text": "beginning", "next": "after"])
    }

    @Test("a content type that is set is sent")
    func contentType() async throws {
        let form = MultipartFormData()
        #expect(form.contentType == "multipart/form-data; boundary=\(form.boundary)")
        form.append(Data("a".utf8), withName: "f")
        form.contentType = "multipart/form-data; charset=utf-8; boundary=\(form.boundary)"
        let response = await session.upload(multipartFormData: form, to: server.url("/anything"))
            .serializingDecodable(Anything.self).response
        #expect(response.value?.form == ["f": "a"])
        #expect(response.value?.headers["Content-Type"] == form.contentType)
    }

    @Test(
        "a content type that is set without a boundary gets the form's, and so does the request's own field",
        arguments: [
            ("multipart/form-data", true), ("Multipart/Form-Data; charset=utf-8", true),
            ("multipart/form-data; boundary=", true), ("multipart/mixed", true),
            ("multipart/form-data; boundary=x", false),
            ("application/x-form", false),
        ])
    func ownContentType(type: String, isCompleted: Bool) async throws {
        for boundary in ["b", "two words"] {
            let parameter = boundary == "b" ? "boundary=b" : "boundary=\"two words\""
            let form = MultipartFormData(boundary: boundary)
            form.append(Data("a".utf8), withName: "f")
            let own = session.upload(
                multipartFormData: form, to: server.url("/anything"), headers: [.contentType("multipart/form-data")])
            #expect(
                try await own.serializingDecodable(Anything.self).value.headers["Content-Type"]
                    == "multipart/form-data; \(parameter)")
            form.contentType = type
            let sent = isCompleted ? "\(type); \(parameter)" : type
            let upload = session.upload(multipartFormData: form, to: server.url("/anything"))
            #expect(try await upload.serializingDecodable(Anything.self).value.headers["Content-Type"] == sent)
            let request = try URLRequest(url: server.url("/anything"), method: .post)
            let stream = session.streamRequest(request, uploading: .form(form))
            var content = Data()
            for try await bytes in stream.content() { content += bytes }
            #expect(try JSONDecoder().decode(Anything.self, from: content).headers["Content-Type"] == sent)
            #expect(form.contentType == type)
        }
    }

    /// Adds a part to a form while the request is being made.
    private struct Completing: URLRequestConvertible, @unchecked Sendable {
        // SAFETY: the form is touched by the request alone once it has begun.
        let form: MultipartFormData
        let url: URL

        func asURLRequest() throws -> URLRequest {
            form.append(Data("late".utf8), withName: "added")
            return try URLRequest(url: url, method: .post)
        }
    }

    @Test("parts that are added while the URLRequest is made are sent", arguments: [0, 1_000_000])
    func lateParts(threshold: UInt64) async throws {
        let form = MultipartFormData()
        form.append(Data("early".utf8), withName: "first")
        let response = await session.upload(
            multipartFormData: form, with: Completing(form: form, url: server.url("/anything")),
            usingThreshold: threshold
        ).serializingDecodable(Anything.self).response
        #expect(response.value?.form == ["first": "early", "added": "late"])
    }
}
