import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

/// What a server says about a failure.
private struct Complaint: Error, Equatable {
    let text: String
}

/// Makes an error of the content of a response that was refused.
private struct ComplaintSerializer: ResponseSerializer {
    /// Throws its own error as an `AFError`.
    var throwsAFError = false

    func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> String {
        let text = String(decoding: data ?? Data(), as: UTF8.self)
        guard error != nil else { return text }
        if throwsAFError { throw AFError.invalidURL(url: text) }
        throw Complaint(text: text)
    }

    func serializeDownload(
        request: URLRequest?, response: HTTPURLResponse?, fileURL: URL?, error: (any Error)?
    ) throws -> String {
        let data = try fileURL.map { try Data(contentsOf: $0) }
        return try serialize(request: request, response: response, data: data, error: error)
    }
}

@Suite("Errors of serialisers", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SerializerErrorTests {
    private let server: FixtureServer
    private let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
        server.route("/refused") { _ in FixtureResponse.text("out of stock", status: 409) }
    }

    @Test("what a serialiser throws replaces the error that it was given")
    func ownErrorWins() async throws {
        let serializer = ComplaintSerializer()
        let data = await session.request(server.url("/refused")).validate().serializingResponse(using: serializer)
            .response
        let download = await session.download(server.url("/refused")).validate().serializingDownload(using: serializer)
            .response
        for error in [data.error, download.error] {
            guard case .responseSerializationFailed(.customSerializationFailed(let thrown)) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(thrown as? Complaint == Complaint(text: "out of stock"))
        }
        #expect(data.response?.statusCode == 409 && download.response?.statusCode == 409)
    }

    @Test("an AFError that a serialiser throws is the response's error itself")
    func ownAFErrorWins() async throws {
        let serializer = ComplaintSerializer(throwsAFError: true)
        let data = await session.request(server.url("/refused")).validate().serializingResponse(using: serializer)
            .response
        let download = await session.download(server.url("/refused")).validate().serializingDownload(using: serializer)
            .response
        #expect(data.error?.isInvalidURLError == true && download.error?.isInvalidURLError == true)
    }

    @Test("the library's serialisers pass the request's error on as it is")
    func requestErrorStays() async throws {
        let request = session.request(server.url("/refused")).validate()
        #expect(await request.serializingData().response.error?.responseCode == 409)
        #expect(await request.serializingString().response.error?.responseCode == 409)
        #expect(await request.serializingDecodable(Empty.self).response.error?.responseCode == 409)
        let download = session.download(server.url("/refused")).validate()
        #expect(await download.serializingDownloadedFileURL().response.error?.responseCode == 409)
    }

    @Test("JSON is an object of Foundation's in handlers, in tasks and from the serialiser itself")
    func json() async throws {
        let url = server.url("/anything?a=1")
        let queue = DispatchQueue(label: "handlers")
        let data: DataResponse<Any, AFError> = await withCheckedContinuation { continuation in
            session.request(url).responseJSON(queue: queue) { (response: AFDataResponse<Any>) in
                nonisolated(unsafe) let response = response
                continuation.resume(returning: response)
            }
        }
        #expect((data.value as? [String: Any])?["args"] as? [String: String] == ["a": "1"])
        let download: DownloadResponse<Any, AFError> = await withCheckedContinuation { continuation in
            session.download(url).response(queue: queue, responseSerializer: JSONResponseSerializer()) { response in
                nonisolated(unsafe) let response = response
                continuation.resume(returning: response)
            }
        }
        #expect((download.value as? [String: Any])?["method"] as? String == "GET")
        let task = session.request(url).serializingResponse(using: JSONResponseSerializer())
        #expect((try await task.value as? [String: Any])?["method"] as? String == "GET")
        let object = try JSONResponseSerializer().serialize(
            request: nil, response: nil, data: Data("[1, {\"a\": null}]".utf8), error: nil)
        let list = try #require(object as? [Any])
        #expect(list.first as? Int == 1 && (list.last as? [String: Any])?["a"] is NSNull)
    }

    @Test("JSON is read with the options that were asked for, mutable containers among them")
    func readingOptions() async throws {
        let serializer = JSONResponseSerializer(options: [.mutableContainers, .fragmentsAllowed])
        #expect(serializer.options == [.mutableContainers, .fragmentsAllowed])
        let task = session.request(server.url("/anything?a=1")).serializingResponse(using: serializer)
        #expect(try await task.value is NSMutableDictionary)
        let object = try JSONResponseSerializer().serialize(
            request: nil, response: nil, data: Data("{}".utf8), error: nil)
        #expect(!(object is NSMutableDictionary))
    }

    @Test("the error of an acceptable content type names the types in alphabetical order")
    func sortedTypes() async throws {
        let types: Set = ["text/xml", "application/json", "image/png", "audio/mp4"]
        let error = await session.request(server.url("/refused")).validate(contentType: types).serializingData()
            .response.error
        #expect(error?.acceptableContentTypes == types.sorted())
    }
}
