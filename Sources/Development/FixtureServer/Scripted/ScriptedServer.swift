// A server whose script says which bytes go out and when: for what a correct server never sends.

import FireweedTesting
public import Foundation
import Glibc
import Synchronization

/// A raw-socket server on a loopback port.
///
/// Each connection plays a script; the last script is for all further ones.
public final class ScriptedServer: Sendable {
    /// One step of a script.
    public enum Action: Sendable {
        /// Reads up to the empty line that ends a request's head.
        case receiveHead
        /// Reads so many bytes of content.
        case receive(byteCount: Int)
        /// Reads the content that the head before announced, to its end.
        case receiveContent
        /// Sends text as it is.
        case send(String)
        /// Sends bytes as they are.
        case sendData(Data)
        /// Sends text again and again, until the client is gone or so many times.
        case sendRepeatedly(String, count: Int)
        /// Waits until the test calls `signal(_:)` with this name.
        case wait(for: String)
        /// Waits until the client closes, or the server stops.
        case hold
        /// Closes in an orderly way.
        case close
        /// Closes with RST.
        case reset
        /// Ends what the server sends; the server continues to read.
        case shutdownWrite
        /// Calls a closure on the connection's thread.
        case perform(@Sendable () -> Void)
    }

    /// What tests can wait for.
    public enum Event: Sendable, Equatable {
        /// A connection was accepted; they are counted from 0.
        case accepted(Int)
        /// A request's head came.
        case head(Int, String)
        /// The client closed.
        case closedByPeer(Int)
        /// For half a second nothing could be sent by `sendRepeatedly`, which had sent so many bytes until then.
        case stalled(Int, byteCount: Int)
    }

    /// The port.
    public let port: UInt16
    /// What has happened.
    public let events = EventLog<Event>()
    private let signals = EventLog<String>()
    private let address: LoopbackAddress
    private let descriptors: ServerDescriptors
    private let scripts: [[Action]]
    private let connectionCount = Atomic<Int>(0)

    /// Starts a server; the scripts are for one connection each.
    public static func start(_ scripts: [Action]..., on address: LoopbackAddress = .ipv4) throws -> ScriptedServer {
        try start(scripts: scripts, on: address)
    }

    /// Starts a server; the scripts are for one connection each.
    public static func start(scripts: [[Action]], on address: LoopbackAddress = .ipv4) throws -> ScriptedServer {
        let (descriptor, port) =
            switch address {
            case .ipv4: try ServerSocket.listen()
            case .ipv6: try LoopbackSocket.listenIPv6()
            }
        return run(ScriptedServer(listener: descriptor, address: address, port: port, scripts: scripts))
    }

    /// Starts a server on a port of 127.0.0.1; 0 for a free one.
    public static func start(port: UInt16, _ scripts: [[Action]]) throws -> ScriptedServer {
        let (descriptor, port) = try ServerSocket.listen(port: port)
        return run(ScriptedServer(listener: descriptor, address: .ipv4, port: port, scripts: scripts))
    }

    private static func run(_ server: ScriptedServer) -> ScriptedServer {
        server.descriptors.accept { [weak server] descriptor in
            guard let server else { return nil }
            let number = server.connectionCount.add(1, ordering: .relaxed).oldValue
            let script = server.scripts.isEmpty ? [] : server.scripts[min(number, server.scripts.count - 1)]
            let connection = ScriptedConnection(
                descriptor: descriptor, number: number, events: server.events, signals: server.signals)
            return { connection.play(script) }
        }
        return server
    }

    private init(listener: Int32, address: LoopbackAddress, port: UInt16, scripts: [[Action]]) {
        descriptors = ServerDescriptors(listener: listener)
        self.address = address
        self.port = port
        self.scripts = scripts
    }

    deinit { stop() }

    /// The URL of a path.
    public func url(_ path: String = "/") -> URL {
        URL(string: "http://\(address.rawValue):\(port)\(path)") ?? URL(fileURLWithPath: "/")
    }

    /// Lets scripts go on that wait for this name.
    public func signal(_ name: String) {
        signals.record(name)
    }

    /// Closes everything.
    public func stop() { descriptors.stop() }
}
