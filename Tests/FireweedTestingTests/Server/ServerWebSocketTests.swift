import FireweedTesting
import Foundation
import Testing

@Suite("WebSockets of mock servers", .timeLimit(.minutes(testTimeoutMinutes)))
struct ServerWebSocketTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        let code: UInt16

        init(_ description: String, _ bytes: [UInt8], _ code: UInt16 = 1002) {
            testDescription = description
            self.bytes = bytes
            self.code = code
        }
    }

    private static let mask: [UInt8] = [0, 0, 0, 0]

    @Test(
        "a client that breaks the protocol gets a close frame with the reason (RFC 6455 §5.2, §5.4, §5.5, §7.4, §8.1)",
        arguments: [
            Row("a reserved bit", [0xC1, 0x80] + mask),
            Row("a reserved opcode", [0x83, 0x80] + mask),
            Row("a reserved opcode of control frames", [0x8B, 0x80] + mask),
            Row("no mask", [0x81, 0x00]),
            Row("a ping in fragments", [0x09, 0x80] + mask),
            Row("a ping of more than 125 bytes", [0x89, 0xFE, 0, 126] + mask + [UInt8](repeating: 0, count: 126)),
            Row("a continuation of nothing", [0x80, 0x80] + mask),
            Row("a message inside another one", [0x01, 0x80] + mask + [0x81, 0x80] + mask),
            Row("a close frame of one byte", [0x88, 0x81] + mask + [3]),
            Row("a close code that nobody sends", [0x88, 0x82] + mask + [0x03, 0xED]),
            Row("a close code below all others", [0x88, 0x82] + mask + [0x03, 0xE7]),
            Row("a reason that is not UTF-8", [0x88, 0x83] + mask + [0x03, 0xE8, 0xFF], 1007),
            Row("text that is not UTF-8", [0x81, 0x81] + mask + [0xFF], 1007),
            Row(
                "fragments of text that end within a character", [0x01, 0x81] + mask + [0xC3, 0x80, 0x80] + mask, 1007),
            Row("a length of 64 bits", [0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 1] + mask),
            Row("a length whose high bits count", [0x82, 0xFF, 1, 0, 0, 0, 0, 0, 0, 1] + mask + [0], 1009),
            Row("a message that is too long", [0x82, 0xFF, 0, 0, 0, 0, 0x40, 0, 0, 1], 1009),
            Row(
                "fragments that are too long", [0x02, 0x81] + mask + [7, 0x80, 0xFF, 0, 0, 0, 0, 0x40, 0, 0, 0], 1009),
        ])
    func refusals(row: Row) async throws {
        let server = try MockServer.start {
            Stub.webSocket("/chat") { socket in for try await _ in socket.messages {} }
        }
        let handshake = """
            GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n
            """
        let answer = await RawClient.send(Data(handshake.utf8) + row.bytes, to: server.port)
        #expect(answer.suffix(4) == Data([0x88, 2, UInt8(row.code >> 8), UInt8(row.code & 0xFF)]))
    }
}
