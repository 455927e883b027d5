import Fireweed
import FixtureServer
import Foundation
import Testing

/// Reads `name=value` lines: a decoder that is neither JSON nor a property list.
private struct LineDecoder: DataDecoder {
    func decode<D: Decodable>(_ type: D.Type, from data: Data) throws -> D {
        let pairs = String(decoding: data, as: UTF8.self).split(separator: "\n").map { line in
            let halves = line.split(separator: "=", maxSplits: 1).map(String.init)
            return (halves[0], halves.count > 1 ? halves[1] : "")
        }
        let json = try JSONEncoder().encode(Dictionary(uniqueKeysWithValues: pairs))
        return try JSONDecoder().decode(type, from: json)
    }
}

/// Counts bytes, wherever they are.
private struct CountSerializer: ResponseSerializer {
    func serialize(request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?) throws -> Int {
        if let error { throw error }
        return data?.count ?? -1
    }
}

/// Fails always.
private struct FailingSerializer: ResponseSerializer {
    func serialize(request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?) throws -> Int {
        throw CocoaError(.featureUnsupported)
    }
}

private struct FailingPreprocessor: DataPreprocessor {
    func preprocess(_ data: Data) throws -> Data { throw CocoaError(.featureUnsupported) }
}

private struct Named: Codable, Sendable, Equatable, EmptyResponse {
    let name: String
    static func emptyValue() -> Named { Named(name: "nobody") }
}

@Suite("Serialisation forms", .timeLimit(.minutes(TestTimeouts.minutes)))
struct SerializationFormsTests {
    let server: FixtureServer
    let session = Session.isolated()

    init() throws {
        server = try FixtureServer.start()
    }

    private func route(_ text: String, status: Int = 200, type: String? = "text/plain") {
        route(Data(text.utf8), status: status, type: type)
    }

    private func route(_ data: Data, status: Int = 200, type: String? = "text/plain") {
        server.route("/it") { _ in
            FixtureResponse(status: status, fields: type.map { [("Content-Type", $0)] } ?? [], body: .data(data))
        }
    }

    private var request: DataRequest { session.request(server.url("/it")) }
    private var download: DownloadRequest { session.download(server.url("/it")) }

    @Test("values come from data and from files alike")
    func values() async throws {
        route(#"{"name":"Ada"}"#, type: "application/json")
        #expect(try await request.serializingData().value.count == 14)
        #expect(try await download.serializingData().value.count == 14)
        #expect(try await request.serializingString().value == #"{"name":"Ada"}"#)
        #expect(try await download.serializingString().value == #"{"name":"Ada"}"#)
        #expect(try await request.serializingDecodable(Named.self).value.name == "Ada")
        #expect(try await download.serializingDecodable(Named.self).value.name == "Ada")
        #expect(try await request.serializingResponse(using: CountSerializer()).value == 14)
        #expect(try await download.serializingDownload(using: CountSerializer()).value == 14)
        #expect(try await request.serializingResponse(using: .string).value.hasPrefix("{"))
        #expect(try await request.serializingResponse(using: .data).value.count == 14)
        #expect(try await request.serializingResponse(using: .decodable(of: Named.self)).value.name == "Ada")
        let file = try await download.serializingDownload(using: .url).value
        #expect(try Data(contentsOf: file).count == 14)
        try FileManager.default.removeItem(at: file.deletingLastPathComponent())
    }

    @Test("completion handlers have the same forms, and all of one request see one response")
    func handlers() async throws {
        route(#"{"name":"Ada"}"#, type: "application/json")
        let (queue, seen) = (DispatchQueue(label: "handlers"), EventNames())
        await withCheckedContinuation { continuation in
            request
                .response(queue: queue) { seen.add("data \($0.value??.count ?? -1)") }
                .response(queue: queue, responseSerializer: CountSerializer()) { seen.add("count \($0.value ?? -1)") }
                .responseData(queue: queue, emptyResponseCodes: []) { seen.add("data \($0.value?.count ?? -1)") }
                .responseString(queue: queue, encoding: .utf8) { seen.add("text \($0.value?.count ?? -1)") }
                .responseDecodable(of: Named.self, queue: queue) { seen.add($0.value?.name ?? "-") }
                .response(queue: queue, responseSerializer: FailingSerializer()) { response in
                    seen.add(response.error?.isResponseSerializationError == true ? "failed" : "-")
                }
                .responseJSON(queue: queue) { response in
                    seen.add((response.value as? [String: String])?["name"] ?? "-")
                    continuation.resume()
                }
        }
        await withCheckedContinuation { continuation in
            download
                .response(queue: queue) { seen.add("file \($0.value??.lastPathComponent ?? "-")") }
                .responseURL(queue: queue) { seen.add("file \($0.value?.lastPathComponent ?? "-")") }
                .responseData(queue: queue) { seen.add("data \($0.value?.count ?? -1)") }
                .responseString(queue: queue) { seen.add("text \($0.value?.count ?? -1)") }
                .responseDecodable(of: Named.self, queue: queue) { seen.add($0.value?.name ?? "-") }
                .response(queue: queue, responseSerializer: CountSerializer()) { seen.add("count \($0.value ?? -1)") }
                .responseJSON(queue: queue) { response in
                    seen.add((response.value as? [String: String])?["name"] ?? "-")
                    if let file = response.fileURL {
                        try? FileManager.default.removeItem(at: file.deletingLastPathComponent())
                    }
                    continuation.resume()
                }
        }
        #expect(
            seen.all == [
                "data 14", "count 14", "data 14", "text 14", "Ada", "failed", "Ada", "file content", "file content",
                "data 14", "text 14", "Ada", "count 14", "Ada",
            ])
        #expect(server.requests.count == 2)
    }

    @Test("any decoder decodes")
    func decoders() async throws {
        route("name=Ada\nage=36")
        #expect(
            try await request.serializingDecodable([String: String].self, decoder: LineDecoder()).value["age"] == "36")
        #expect(try await download.serializingDecodable(Named.self, decoder: LineDecoder()).value.name == "Ada")
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        route(try encoder.encode(Named(name: "Grace")))
        let value = try await request.serializingDecodable(Named.self, decoder: PropertyListDecoder()).value
        #expect(value.name == "Grace")
    }

    @Test(
        "text is read in the encoding that is given, else the response's, else ISO-8859-1",
        arguments: [
            ([0xFC], "text/plain", nil, "ü"), ([0xFC], nil, nil, "ü"),
            ([0xC3, 0xBC], "text/plain; charset=UTF-8", nil, "ü"),
            ([0xC3, 0xBC], "text/plain; charset=iso-8859-1", .utf8, "ü"),
            ([0xFC], "text/plain; charset=latin1", nil, "ü"),
            ([0xFC], "text/plain; charset=x-nobody", nil, "ü"),
            ([0xFF, 0xFE, 0xFC, 0], "text/plain; charset=utf-16", nil, "ü"),
            ([0x80], "text/plain; charset=windows-1252", nil, "€"),
            ([0xFC], "text/plain; charset=utf-8", nil, nil), ([0xFC], "text/plain", .ascii, nil),
        ] as [([UInt8], String?, String.Encoding?, String?)])
    func charsets(bytes: [UInt8], type: String?, encoding: String.Encoding?, expected: String?) async throws {
        route(Data(bytes), type: type)
        for result in [
            await request.serializingString(encoding: encoding).result,
            await download.serializingString(encoding: encoding).result,
        ] {
            switch result {
            case .success(let text): #expect(text == expected)
            case .failure(let error): #expect(expected == nil && error.failedStringEncoding != nil)
            }
        }
    }

    @Test("each failure has its reason")
    func reasons() async throws {
        route("no JSON", type: "application/json")
        guard
            case .responseSerializationFailed(.decodingFailed(is DecodingError)) =
                await request.serializingDecodable(Named.self).response.error
        else { return #expect(Bool(false), "decoding") }
        guard
            case .responseSerializationFailed(.jsonSerializationFailed) =
                await request.serializingResponse(using: JSONResponseSerializer()).response.error
        else { return #expect(Bool(false), "JSON") }
        guard
            case .responseSerializationFailed(.customSerializationFailed(is CocoaError)) =
                await request.serializingResponse(using: FailingSerializer()).response.error
        else { return #expect(Bool(false), "custom") }
        guard
            case .responseSerializationFailed(.customSerializationFailed(is CocoaError)) =
                await download.serializingData(dataPreprocessor: FailingPreprocessor()).response.error
        else { return #expect(Bool(false), "preprocessor") }
        route("")
        guard
            case .responseSerializationFailed(.inputDataNilOrZeroLength) =
                await request.serializingString().response.error
        else { return #expect(Bool(false), "empty") }
        guard
            case .responseSerializationFailed(.inputDataNilOrZeroLength) =
                await download.serializingDecodable(Named.self).response.error
        else { return #expect(Bool(false), "empty file") }
        let gone = download.validate { _, _, file in
            if let file { try? FileManager.default.removeItem(at: file) }
            return .success(())
        }
        guard case .responseSerializationFailed(.inputFileReadFailed) = await gone.serializingData().response.error
        else { return #expect(Bool(false), "file gone") }
    }

    @Test(
        "empty content is a value where method or status allow it",
        arguments: [
            (204, HTTPMethod.get, true), (205, .get, true), (200, .head, true), (200, .get, false), (404, .get, false),
        ])
    func empty(status: Int, method: HTTPMethod, isAllowed: Bool) async throws {
        route("", status: status, type: nil)
        let url = server.url("/it")
        let named = await session.request(url, method: method).serializingDecodable(Named.self).response
        #expect(named.value == (isAllowed ? .emptyValue() : nil))
        #expect((await session.request(url, method: method).serializingString().response.value == "") == isAllowed)
        #expect((await session.download(url, method: method).serializingData().response.value == Data()) == isAllowed)
        let json = await session.request(url, method: method).serializingResponse(using: JSONResponseSerializer())
            .response
        #expect((json.value is NSNull) == isAllowed)
        let own = session.request(url, method: method)
            .serializingDecodable(Empty.self, emptyResponseCodes: [200, 404], emptyRequestMethods: [])
        #expect((await own.response.value == .value) == [200, 404].contains(status))
        let none = await session.request(url, method: method).serializingDecodable([Int].self).response
        if isAllowed {
            guard case .responseSerializationFailed(.invalidEmptyResponse(let type)) = none.error else {
                return #expect(Bool(false), "a type without an empty value")
            }
            #expect(type.contains("Array"))
        }
    }

    @Test("preprocessors see the content first")
    func preprocessors() async throws {
        route(")]}',\n{\"name\":\"Ada\"}")
        #expect(try await request.serializingDecodable(Named.self, dataPreprocessor: .googleXSSI).value.name == "Ada")
        #expect(try await download.serializingString(dataPreprocessor: .googleXSSI).value == #"{"name":"Ada"}"#)
        #expect(try await request.serializingData(dataPreprocessor: .passthrough).value.count == 20)
    }

    @Test("a serialiser's failure asks the retrier, and the next attempt is serialised anew")
    func retryAfterSerialiser() async throws {
        let count = ProtectedList<Int>()
        server.route("/flaky") { _ in
            count.append(1)
            return .text(count.all.count == 1 ? "no JSON" : #"{"name":"Ada"}"#)
        }
        let retrier = Retrier { _, _, error, completion in
            completion(error.asAFError?.isResponseSerializationError == true ? .retry : .doNotRetry)
        }
        // Begun when it has both, since the first attempt could be over before the second handler is there.
        let request = session.request(server.url("/flaky"), interceptor: retrier, shouldAutomaticallyResume: false)
        let (queue, texts) = (DispatchQueue(label: "handlers"), EventNames())
        request.responseString(queue: queue) { texts.add($0.value ?? "-") }
        let task = request.serializingDecodable(Named.self)
        request.resume()
        #expect(try await task.value.name == "Ada")
        queue.sync {}
        #expect(texts.all == [#"{"name":"Ada"}"#] && request.retryCount == 1)
    }

    @Test("responses of downloads can be mapped and described like those of data")
    func mapping() async throws {
        route("abc")
        let response = await download.serializingString().response
        #expect(response.map(\.count).value == 3 && response.tryMap { $0 + "d" }.value == "abcd")
        #expect(response.tryMap { _ in throw CocoaError(.featureUnsupported) }.error is CocoaError)
        #expect(response.mapError { _ in CocoaError(.featureUnsupported) }.value == "abc")
        #expect(response.map(\.count).request == response.request && response.response?.statusCode == 200)
        #expect(response.description == "success(\"abc\")")
        for line in [
            "[Request]: GET ", "[Status Code]: 200", "[File URL]: /", "[Resume Data]: None", "[Network Duration]: ",
        ] {
            #expect(response.debugDescription.contains(line), "\(line)")
        }
        let failed = await session.download("http://127.0.0.1:1/").serializingString().response
        #expect(failed.mapError { _ in CocoaError(.featureUnsupported) }.error?.code == .featureUnsupported)
        #expect(failed.tryMapError { _ -> CocoaError in throw CocoaError(.fileNoSuchFile) }.error is CocoaError)
        #expect(failed.map(\.count).error?.isSessionTaskError == true && failed.tryMap { $0 }.error is AFError)
        #expect(failed.description.hasPrefix("failure("))
        let data = await session.request("http://127.0.0.1:1/").serializingString().response
        #expect(data.tryMapError { $0 }.error is AFError && data.map(\.count).error != nil)
        #expect(data.debugDescription.contains("[Body]: None") && data.serializationDuration >= 0)
    }

    // MARK: Validation

    @Test("validations run in the order in which they were added; the first error stays and ends them")
    func precedence() async throws {
        route("x", status: 404, type: "text/html")
        let calls = EventNames()
        let request =
            request
            .validate { _, _, _ in
                calls.add("first")
                return .success(())
            }
            .validate(contentType: ["application/json"])
            .validate(statusCode: 200..<300)
            .validate { _, _, _ in
                calls.add("never")
                return .success(())
            }
        #expect(await request.serializingData().response.error?.responseContentType == "text/html")
        #expect(calls.all == ["first"])
        let status = await self.request.validate().validate(contentType: ["application/json"]).serializingData()
            .response
        #expect(status.error?.responseCode == 404 && status.data == Data("x".utf8))
        let lost = session.request("http://127.0.0.1:1/").validate { _, _, _ in
            calls.add("never")
            return .success(())
        }
        #expect(await lost.serializingData().response.error?.isSessionTaskError == true && calls.all == ["first"])
    }

    @Test("validate() goes by the request's Accept field; an empty body has any type")
    func accept() async throws {
        route("x", type: "text/html; charset=utf-8")
        for (accept, isAccepted) in [
            ("text/*", true), ("application/json, text/html;q=0.5", true), ("application/json", false),
        ] {
            let data = session.request(server.url("/it"), headers: [.accept(accept)]).validate()
            let file = session.download(server.url("/it"), headers: [.accept(accept)]).validate()
            #expect((await data.serializingData().response.error == nil) == isAccepted, "\(accept)")
            #expect((await file.serializingData().response.error == nil) == isAccepted, "\(accept)")
        }
        route("", status: 204, type: "text/html")
        let empty = session.request(server.url("/it")).validate(contentType: ["application/json"])
        #expect(await empty.serializingData().response.error == nil)
        let file = session.download(server.url("/it")).validate(contentType: ["application/json"])
        #expect(await file.serializingData().response.error == nil)
    }

    @Test("any sequence of statuses is acceptable, and a download's validation sees its file")
    func forms() async throws {
        route("x", status: 418)
        #expect(await request.validate(statusCode: [418]).serializingData().response.error == nil)
        #expect(await request.validate(statusCode: Set([1, 418])).serializingData().response.error == nil)
        #expect(await request.validate(statusCode: 400...499).serializingData().response.error == nil)
        #expect(await download.validate(statusCode: [200]).serializingData().response.error?.responseCode == 418)
        let contents = ProtectedList<String>()
        let refused = download.validate { _, response, file in
            contents.append(file.flatMap { try? String(contentsOf: $0, encoding: .utf8) } ?? "-")
            return .failure(AFError.responseValidationFailed(reason: .dataFileNil))
        }
        guard case .responseValidationFailed(.dataFileNil) = await refused.serializingData().response.error else {
            return #expect(Bool(false), "an AFError of a validation is the error itself")
        }
        #expect(contents.all == ["x"])
    }
}
