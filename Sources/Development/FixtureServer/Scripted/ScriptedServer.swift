// A server with a script of bytes and pauses, also of bytes that a correct server never sends.

import FireweedTesting
public import Foundation
import Glibc
import Synchronization

/// A raw-socket server on a loopback port.
///
/// Connection N plays script N; the last script is for all further connections.
public final class ScriptedServer: Sendable {
    /// One step of a script.
    public enum Action: Sendable {
        /// Reads up to the empty line that ends a request's head.
        case receiveHead
        /// Reads this many bytes of content.
        case receive(byteCount: Int)
        /// Reads the content of the last request head, to its end.
        case receiveContent
        /// Sends text as it is.
        case send(String)
        /// Sends bytes as they are.
        case sendData(Data)
        /// Sends text `count` times, or until the client is gone.
        case sendRepeatedly(String, count: Int)
        /// Waits until the test calls `signal(_:)` with this name.
        case wait(for: String)
        /// Waits until the client closes, or the server stops.
        case hold
        /// Closes in an orderly way.
        case close
        /// Closes with RST.
        case reset
        /// Shuts down the sending side; the server continues to read.
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
        /// `sendRepeatedly` could send nothing for half a second, after it had sent `byteCount` bytes.
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

    /// Lets scripts continue that wait for this name.
    public func signal(_ name: String) {
        signals.record(name)
    }

    /// Closes everything.
    public func stop() { descriptors.stop() }
}
