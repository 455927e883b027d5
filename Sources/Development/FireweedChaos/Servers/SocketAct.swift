// The behaviour of WebSocket servers.

import FixtureServer

/// The behaviour of one WebSocket server; each behaviour has its own server.
enum SocketAct: String, Sendable, CaseIterable, Codable {
    /// Sends every message back, and answers the close frame.
    case echoes
    /// Behaves like `echoes`, and sends a ping before each message.
    case pings
    /// Sends one message back and resets the connection.
    case resets
    /// Sends one message back and a close frame.
    case closes
    /// Discards what it reads and sends nothing.
    case silent
    /// Answers the handshake with 404.
    case refuses
    /// Sends a frame with a reserved opcode.
    case breaksProtocol

    /// Starts a server that behaves in this way.
    func start() throws -> WebSocketPeer {
        let refusal = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        return try WebSocketPeer(answer: .init(refusal: { _ in self == .refuses ? refusal : nil })) { connection in
            switch self {
            case .echoes, .pings: try echo(connection)
            case .resets:
                try connection.send(try connection.receive())
                connection.resetAtEnd()
            case .closes:
                try connection.send(try connection.receive())
                try connection.send(WebSocketPeer.Frame(8, [0x03, 0xE8]))
                _ = connection.receiveAll()
            case .silent, .refuses: connection.waitForEnd()
            case .breaksProtocol:
                try connection.send(WebSocketPeer.Frame(3, [1, 2, 3]))
                connection.waitForEnd()
            }
        }
    }

    private func echo(_ connection: WebSocketPeerConnection) throws {
        while true {
            let frame = try connection.receive()
            if frame.opcode == 0x9 { try connection.send(WebSocketPeer.Frame(0xA, frame.payload)) }
            guard [0, 1, 2, 8].contains(frame.opcode) else { continue }
            if self == .pings { try connection.send(WebSocketPeer.Frame(0x9, [1, 2, 3])) }
            try connection.send(frame)
            if frame.opcode == 8 { return connection.waitForEnd() }
        }
    }
}
