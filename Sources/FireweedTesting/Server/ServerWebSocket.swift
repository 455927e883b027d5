// A WebSocket of a mock server.

import Fireweed
import Foundation
import Glibc
import Synchronization

/// Carries frames (RFC 6455 §5) between a connection's thread and a script.
final class ServerWebSocket: @unchecked Sendable {
    // SAFETY: the stream is read on the connection's thread alone, and written under the lock.
    private let stream: any ServerStream
    private let descriptor: Int32
    private let script: WebSocketScript
    private let request: RecordedRequest
    private var reader: FrameReader
    private let hasClosed = Mutex(false)

    init(
        _ stream: any ServerStream, _ descriptor: Int32, _ script: WebSocketScript,
        _ request: RecordedRequest, _ rest: Data
    ) {
        self.stream = stream
        self.descriptor = descriptor
        self.script = script
        self.request = request
        reader = FrameReader(stream, after: rest)
    }

    /// Returns the `Sec-WebSocket-Accept` field for a handshake with this key (RFC 6455 §4.2.2).
    static func agreement(to key: String) -> Field {
        let accept = WebSocketKey(bytes: Array(Data(base64Encoded: key) ?? Data())).accept
        return Field(name: "Sec-WebSocket-Accept", value: accept)
    }

    /// Serves after the handshake, until the connection ends.
    func serve() {
        let peer = MockWebSocket(request: request) { [self] in perform($0) }
        let task = peer.run(script)
        read(peer)
        // Frames that the script still sends are dropped from now on: the descriptor's number may soon belong to
        // another connection.
        hasClosed.withLock { $0 = true }
        peer.closed(code: nil, reason: Data())
        task.cancel()
    }

    private func perform(_ action: MockWebSocket.Action) {
        switch action {
        case .send(.text(let text)): send(0x1, Data(text.utf8))
        case .send(.binary(let data)): send(0x2, data)
        case .close(let code, let reason): sendClose(code, reason)
        case .fail:
            hasClosed.withLock { hasClosed in
                guard !hasClosed else { return }
                hasClosed = true
                descriptor.resetOnClose()
                shutdown(descriptor, Int32(SHUT_RDWR))
            }
        }
    }

    private func sendClose(_ code: UInt16, _ reason: Data) {
        guard code != 1005 else { return send(0x8, Data()) }
        send(0x8, Data([UInt8(code >> 8), UInt8(code & 0xFF)]) + reason)
    }

    /// Sends a whole frame; sends nothing after a close frame.
    private func send(_ opcode: UInt8, _ content: Data) {
        var frame = Data([0x80 | opcode])
        switch content.count {
        case ..<126: frame.append(UInt8(content.count))
        case ..<65536:
            frame.append(contentsOf: [126, UInt8(content.count >> 8), UInt8(content.count & 0xFF)])
        default:
            frame.append(127)
            for shift in stride(from: 56, through: 0, by: -8) {
                frame.append(UInt8((content.count >> shift) & 0xFF))
            }
        }
        frame.append(content)
        hasClosed.withLock { hasClosed in
            guard !hasClosed else { return }
            hasClosed = opcode == 0x8
            _ = stream.write(frame)
        }
    }

    // MARK: Reading

    private func read(_ peer: MockWebSocket) {
        do throws(FrameReader.Refusal) {
            while let event = try reader.next() {
                switch event {
                case .message(let message): peer.took(message)
                case .ping(let content): send(0xA, content)
                case .close(let code, let reason):
                    // The close frame is answered before the script is notified: a notified script may end, and would
                    // send its own code.
                    sendClose(code, reason)
                    return peer.closed(code: code, reason: reason)
                }
            }
        } catch {
            sendClose(error.code, Data())
            peer.closed(code: error.code, reason: Data())
        }
    }
}
