import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Compressed messages, against the Python package websockets", .timeLimit(.minutes(TestTimeouts.minutes)))
struct WebSocketCompressionTests {
    private let session = Session.isolated()

    /// What a server is made with and what we offer.
    struct Row: Sendable, CustomTestStringConvertible {
        let server: [String: Int]
        let offer: WebSocketCompression
        let testDescription: String
    }

    static let rows = [
        Row(server: [:], offer: WebSocketCompression(), testDescription: "takeover in both directions"),
        Row(
            server: ["server_no_context_takeover": 1], offer: WebSocketCompression(),
            testDescription: "the server takes nothing over"),
        Row(
            server: ["client_no_context_takeover": 1], offer: WebSocketCompression(),
            testDescription: "the server wants us to take nothing over"),
        Row(
            server: [:],
            offer: WebSocketCompression(allowsClientContextTakeover: false, allowsServerContextTakeover: false),
            testDescription: "we want no takeover at all"),
        Row(
            server: ["client_max_window_bits": 9], offer: WebSocketCompression(),
            testDescription: "a small window of ours"),
        Row(
            server: [:], offer: WebSocketCompression(clientMaximumWindowBits: 10, serverMaximumWindowBits: 9),
            testDescription: "small windows in both directions"),
        Row(
            server: ["client_max_window_bits": 8], offer: WebSocketCompression(),
            testDescription: "a window that zlib cannot make, so that we send plain"),
    ]

    @Test("messages come back with every agreement", arguments: rows)
    func echo(row: Row) async throws {
        let server = try WebSocketServer(compression: row.server)
        let request = session.webSocketRequest(
            to: server.url("/echo"),
            configuration: .init(maximumMessageSize: 2_000_000, compression: row.offer))
        let task = request.webSocketTask()
        let texts = [
            "", "x", "hello hello hello", "hello hello hello", String(repeating: "κόσμε ", count: 20_000), "end",
        ]
        var left = texts[...]
        let sights = try await task.sights { event in
            if case .disconnected = event.kind { return }
            if case .completed = event.kind { return }
            if let next = left.popFirst() {
                try await task.send(.string(next))
            } else {
                event.close(sending: .normalClosure)
            }
        }
        #expect(sights == [.connected(nil)] + texts.map { .text($0) } + [.disconnected(1000, nil), .completed(nil)])
        #expect(
            request.response?.value(forHTTPHeaderField: "Sec-WebSocket-Extensions")?.contains("permessage-deflate")
                == true)
    }

    @Test("sections 12 and 13 of the Autobahn case list", arguments: CompressionCase.all)
    func listed(row: CompressionCase) async throws {
        let server = try WebSocketServer(compression: row.server)
        for (fragment, sizes) in CompressionCase.sizes {
            let request = session.webSocketRequest(
                to: server.url("/echo?fragment=\(fragment)"), configuration: .compression(row.offer))
            let task = request.webSocketTask()
            var iterator = task.streamingMessages().makeAsyncIterator()
            for size in sizes {
                for index in 0..<CompressionCase.count(ofSize: size) {
                    let bytes = row.message(size: size, seed: index)
                    let isText = row.content == .json || row.content == .markup
                    try await task.send(isText ? .string(String(decoding: bytes, as: UTF8.self)) : .data(Data(bytes)))
                    let isSame =
                        switch await iterator.next() {
                        case .string(let text)?: isText && text.utf8.elementsEqual(bytes)
                        case .data(let data)?: !isText && data.elementsEqual(bytes)
                        default: false
                        }
                    try #require(isSame, "message \(index) of \(size) bytes, \(String(describing: request.error))")
                }
            }
            let answer = request.response?.value(forHTTPHeaderField: "Sec-WebSocket-Extensions") ?? ""
            #expect(answer.hasPrefix("permessage-deflate"))
            for parameter in row.answer { #expect(answer.contains(parameter), "\(row.number): \(answer)") }
            task.close(sending: .normalClosure)
        }
    }

    @Test("a server without the extension is talked to in plain frames")
    func declined() async throws {
        let server = try WebSocketServer.shared
        let request = session.webSocketRequest(to: server.url("/echo"), configuration: .compression(.init()))
        let task = request.webSocketTask()
        let sights = try await task.sights { event in
            if case .connected = event.kind { try await task.send(.string("plain")) }
            if event.message != nil { event.close(sending: .normalClosure) }
        }
        #expect(sights.contains(.text("plain")) && sights.last == .completed(nil))
    }

    private static let agreed = WebSocketPeer.Answer(fields: ["Sec-WebSocket-Extensions": "permessage-deflate"])

    /// "Hello" as one compressed message (RFC 7692 §7.2.3.1).
    private static let hello: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]

    private func outcome(_ frames: [WebSocketPeer.Frame]) async throws -> (WebSocketPeer.Frame?, [WebSocketSight]) {
        let told = EventLog<[WebSocketPeer.Frame]>()
        let peer = try WebSocketPeer(answer: Self.agreed) { connection in
            for frame in frames { try connection.send(frame) }
            told.note(connection.receiveAll())
        }
        let request = session.webSocketRequest(
            to: peer.url, configuration: .init(maximumMessageSize: 100_000, compression: .init()))
        let sights = await request.webSocketTask().sights { event in
            if event.message != nil { event.close(sending: .normalClosure) }
        }
        return (try await told.first { _ in true }.last, sights)
    }

    @Test("a compressed message may come in fragments, with a ping between them, and be plain beside compressed ones")
    func fragments() async throws {
        let (_, sights) = try await outcome([
            .init(1, Array(Self.hello.prefix(3)), isFinal: false, reserved: 4), .init(9, [1]),
            .init(0, Array(Self.hello.dropFirst(3))), .init(1, Array("plain".utf8)),
        ])
        #expect(sights.prefix(3) == [.connected(nil), .text("Hello"), .text("plain")])
    }

    @Test("what RFC 7692 forbids ends the connection")
    func violations() async throws {
        let rows: [(UInt8, [WebSocketPeer.Frame])] = [
            (0xEA, [.init(1, Self.hello, isFinal: false, reserved: 4), .init(0, [0], reserved: 4)]),
            (0xEA, [.init(9, [1], reserved: 4)]),  // not on control frames
            (0xEA, [.init(1, Self.hello, reserved: 6)]),  // RSV2 has no meaning
            (0xEF, [.init(1, [0xFF, 0xFF, 0xFF], reserved: 4)]),  // no deflate
            (0xEF, [.init(1, [0x00, 0x02, 0x00, 0xFD, 0xFF, 0xC3, 0x28, 0x00], reserved: 4)]),  // no UTF-8 inside
        ]
        for (code, frames) in rows {
            let (close, sights) = try await outcome(frames)
            #expect(close == .init(8, [0x03, code]))
            #expect(sights.last == .completed("\(URLError.Code.cannotParseResponse.rawValue)"))
        }
    }
}
