// Incorrect behaviour of servers.

import FixtureServer
import Foundation

/// The incorrect or unusual behaviour of one server; each behaviour has its own server.
enum HostileAct: String, Sendable, CaseIterable, Codable {
    case closesAtOnce, resetsAtOnce, closesAfterRequest, resetsAfterRequest, neverAnswers
    case closesInHead, neverEndsHead, brokenStatusLine, notHTTP, interimFlood, manyFields
    case closesInContent, resetsInContent, neverEndsContent, closesInChunk, brokenChunk, closesInCoding
    /// Answers correctly and closes without announcing it: the next request finds a dead connection.
    case closesAfterAnswer
    /// Answers correctly, and sends a second response.
    case answersTwice
    /// Answers correctly, after an interim response.
    case informsFirst

    /// The resource that all acts serve.
    static let id = 0
    static let byteCount = 5_000

    /// Whether a request may end as a success.
    var mayAnswer: Bool {
        switch self {
        case .closesAfterAnswer, .answersTwice, .informsFirst: true
        default: false
        }
    }

    /// The script for each connection; all acts but two wait for the request's head first.
    var script: [ScriptedServer.Action] {
        switch self {
        case .closesAtOnce, .resetsAtOnce: steps
        default: [.receiveHead] + steps
        }
    }

    private var steps: [ScriptedServer.Action] {
        let content = KnownContent.bytes(id: Self.id, count: Self.byteCount)
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(Self.byteCount)\r\n\r\n"
        let half = ScriptedServer.Action.sendData(content.prefix(Self.byteCount / 2))
        let chunk = Data("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n".utf8) + content.prefix(100)
        let coded = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"
        let answer: [ScriptedServer.Action] = [.send(head), .sendData(content)]
        return switch self {
        case .closesAtOnce, .closesAfterRequest: [.close]
        case .resetsAtOnce, .resetsAfterRequest: [.reset]
        case .neverAnswers: [.hold]
        case .closesInHead: [.send("HTTP/1.1 200 OK\r\nContent-Le"), .close]
        case .neverEndsHead: [.send("HTTP/1.1 200 OK\r\nA: b"), .hold]
        case .brokenStatusLine: [.send("HTTP/1.1\t200 OK\r\nContent-Length: 5\r\n\r\nhello"), .hold]
        case .notHTTP: [.send("SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n"), .close]
        case .interimFlood: [.sendRepeatedly("HTTP/1.1 103 Early Hints\r\n\r\n", count: 10_000), .close]
        case .manyFields: [.send("HTTP/1.1 200 OK\r\n"), .sendRepeatedly("A: b\r\n", count: 5_000), .close]
        case .closesInContent: [.send(head), half, .close]
        case .resetsInContent: [.send(head), half, .reset]
        case .neverEndsContent: [.send(head), half, .hold]
        case .closesInChunk: [.sendData(chunk.dropLast(10)), .close]
        case .brokenChunk: [.sendData(chunk), .send("\r\nXYZ\r\n"), .hold]
        case .closesInCoding: [.send(coded), .sendData(Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x4B])), .close]
        case .closesAfterAnswer: answer + [.close]
        case .answersTwice: answer + answer + [.hold]
        case .informsFirst: [.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")] + answer + [.hold]
        }
    }
}
