// The endpoints on a mock server.

import CZlib
import Fireweed
package import FireweedTesting
import Foundation

/// Answers the requests of a ``MockServer`` with a handler of the endpoints' types.
package struct EndpointService: Sendable {
    private let answer: @Sendable (ReceivedRequest) -> FixtureResponse
    private let reception: @Sendable (ReceivedRequest) -> Reception

    /// Makes a service.
    ///
    /// - Parameters:
    ///   - reception: decides where the content of a request goes, when its head has arrived.
    ///   - answer: answers a request; both run on the thread of the request's connection.
    package init(
        reception: @escaping @Sendable (ReceivedRequest) -> Reception = EndpointService.reception,
        answer: @escaping @Sendable (ReceivedRequest) -> FixtureResponse
    ) {
        self.reception = reception
        self.answer = answer
    }

    /// The only stub that the server needs.
    package var stub: Stub {
        let answer = answer
        return Stub.any().reply { MockResponse(answer(ReceivedRequest($0))) }
    }

    /// The rules for the server.
    package var rules: ServiceRules {
        let reception = reception
        return ServiceRules { request in
            switch reception(ReceivedRequest(request)) {
            case .memory: .memory
            case .receiver(let receiver): .receiver(receiver)
            case .refused(let response): .refused(MockResponse(response))
            }
        }
    }

    /// Counts the content for `/upload`, which may be large, and keeps any other content in memory.
    package static func reception(of request: ReceivedRequest) -> Reception {
        request.path == "/upload" ? .receiver(ContentChecksum()) : .memory
    }
}

/// The checksum of content that is not kept.
private final class ContentChecksum: ContentReceiver, @unchecked Sendable {
    // SAFETY: used only on the thread of the request's connection.
    private(set) var value = crc32(0, nil, 0)

    func take(_ bytes: UnsafeRawBufferPointer) {
        value = crc32_z(value, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
    }
}

extension ReceivedRequest {
    /// Makes a request that a mock server has received; without its content while only its head has arrived.
    fileprivate init(_ request: RecordedRequest) {
        func checksum(of content: Data) -> UInt {
            content.withUnsafeBytes {
                crc32_z(crc32(0, nil, 0), $0.bindMemory(to: UInt8.self).baseAddress, $0.count)
            }
        }
        let counted = request.receiver as? ContentChecksum
        self.init(
            scheme: request.connection?.tlsVersion == nil ? "http" : "https", method: request.method.rawValue,
            target: request.pathAndQuery, fields: request.fields.map { (name: $0.name, value: $0.value) },
            body: request.body, bodyByteCount: request.contentByteCount,
            bodyChecksum: counted?.value ?? checksum(of: request.body))
        receiver = request.receiver
        isHTTP10 = request.connection?.httpVersion == "HTTP/1.0"
        guard path == "/parts" else { return }
        let type = request.header("Content-Type")?.lowercased() ?? ""
        if type.hasPrefix("multipart/form-data") {
            parts = request.parts.map { part in
                FormPart(
                    name: part.name, fileName: part.fileName, type: part.contentType, byteCount: part.body.count,
                    checksum: checksum(of: part.body), head: part.body)
            }
        } else if type.hasPrefix("application/x-www-form-urlencoded") {
            parts = request.form.map { pair in
                let value = Data((pair.value ?? "").utf8)
                return FormPart(
                    name: pair.name, fileName: nil, type: nil, byteCount: value.count, checksum: checksum(of: value),
                    head: value)
            }
        }
    }
}

extension MockResponse {
    /// Makes the answer of a mock server, with the date that caches and browsers expect (RFC 9110 §6.6.1).
    fileprivate init(_ response: FixtureResponse) {
        let date = Field(name: "Date", value: HTTPDate.text(of: Date()))
        let fields = response.fields.map { Field(name: $0.name, value: $0.value) } + [date]
        let source =
            switch response.body {
            case .data(let data): ContentSource(byteCount: data.count) { $0 == 0 ? .data(data) : nil }
            case .pieces(let count, let next):
                ContentSource(byteCount: count) { number in
                    switch next(number) {
                    case .bytes(let data): .data(data)
                    case .wait(let seconds): .pause(.seconds(seconds))
                    case .end: nil
                    }
                }
            }
        if response.status == 101 {
            self = .webSocket { socket in for try await message in socket.messages { socket.send(message) } }
        } else {
            self.init(status: response.status, fields: fields, source: source)
        }
        self = delayed(by: .seconds(response.delay))
    }
}
