// A WebSocket at an endpoint of the fixture server, which sends every message back.

import CMicrohttpd
import FixtureEndpoints
import Foundation
import Glibc
import Synchronization

/// The endpoint `/websocket`, which switches protocols (RFC 6455 §4.2.2) and sends messages back.
struct WebSocketEcho {
    private let accept: String

    /// `nil` unless the request is a WebSocket handshake for `/websocket`.
    init?(_ request: ReceivedRequest) {
        guard WebSocketEndpoint.isHandshake(request), let key = request.field("Sec-WebSocket-Key") else { return nil }
        accept = WebSocketPeerConnection.accept(key)
    }

    func answer(on connection: OpaquePointer, _ sockets: UpgradedSockets) -> MHD_Result {
        // `sockets` is passed unretained: the daemon keeps the core, which keeps `sockets`, until the daemon has
        // stopped.
        let owner = Unmanaged.passUnretained(sockets).toOpaque()
        guard let made = MHD_create_response_for_upgrade(protocolSwitched, owner) else { return fw_no }
        defer { MHD_destroy_response(made) }
        MHD_add_response_header(made, "Upgrade", "websocket")
        MHD_add_response_header(made, "Sec-WebSocket-Accept", accept)
        return MHD_queue_response(connection, 101, made)
    }

    /// Sends messages back, fragment by fragment, and answers pings and the close frame.
    static func run(on connection: WebSocketPeerConnection) throws {
        while true {
            let frame = try connection.receive()
            switch frame.opcode {
            case 0...2: try connection.send(frame)
            case 8: return try connection.send(.init(8, Array(frame.payload.prefix(2))))
            case 9: try connection.send(.init(10, frame.payload))
            default: break
            }
        }
    }
}

/// The sockets of connections that have switched protocols, which must be closed before the daemon stops.
final class UpgradedSockets: Sendable {
    private let open = Mutex<Set<Int32>>([])
    private let running = DispatchGroup()

    /// Sends messages back on a new thread, and finally calls `close`, which returns the socket to libmicrohttpd.
    func echo(_ descriptor: Int32, close: @escaping @Sendable () -> Void) {
        open.withLock { _ = $0.insert(descriptor) }
        running.enter()
        Thread { [self] in
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
            // Errors are ignored, since a client may close the connection without a close frame.
            try? WebSocketEcho.run(on: WebSocketPeerConnection(descriptor: descriptor, seconds: 0))
            open.withLock { _ = $0.remove(descriptor) }
            close()
            running.leave()
        }.start()
    }

    /// Shuts down all sockets, and waits until their threads have ended.
    func endAll() {
        open.withLock { open in
            for descriptor in open { shutdown(descriptor, Int32(SHUT_RDWR)) }
        }
        running.wait()
    }
}

// libmicrohttpd calls this on a thread of the daemon. Bytes that the client sent before the 101 response are dropped:
// RFC 6455 §4.1 forbids them.
private func protocolSwitched(
    _ owner: UnsafeMutableRawPointer?, _: OpaquePointer?, _: UnsafeMutableRawPointer?, _: UnsafePointer<CChar>?,
    _: Int, _ descriptor: Int32, _ upgrade: OpaquePointer?
) {
    guard let owner else { return }
    let handle = UInt(bitPattern: upgrade)
    Unmanaged<UpgradedSockets>.fromOpaque(owner).takeUnretainedValue().echo(descriptor) {
        _ = fw_close_upgraded(OpaquePointer(bitPattern: handle))
    }
}
