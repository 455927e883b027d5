// A server that sends scripted bytes and pauses, including bytes that no correct server sends.

import FireweedTesting
public import Foundation
import Glibc
import Synchronization

/// A server on a loopback port that reads and writes plain sockets as its scripts say.
///
/// Connection N, from 0, plays script N; all further connections play the last script.
public final class ScriptedServer: Sendable {
    /// One step of a script.
    public enum Action: Sendable {
        /// Reads up to the empty line that ends a request's head.
        case receiveHead
        /// Reads this many bytes of content.
        case receive(byteCount: Int)
        /// Reads the whole content of the request whose head was read last.
        case receiveContent
        /// Sends text as it is.
        case send(String)
        /// Sends bytes as they are.
        case sendData(Data)
        /// Sends text `count` times, or until the client closes the connection.
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

    /// An event that tests can wait for; the number is that of the connection, from 0.
    public enum Event: Sendable, Equatable {
        /// The server accepted a connection.
        case accepted(Int)
        /// The head of a request arrived.
        case head(Int, String)
        /// The client closed the connection.
        case closedByPeer(Int)
        /// `sendRepeatedly` could send nothing for half a second, after it had sent `byteCount` bytes.
        case stalled(Int, byteCount: Int)
    }

    /// The port.
    public let port: UInt16
    /// The log of the server's events.
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

    /// Starts a server on a port of 127.0.0.1; 0 means a free port.
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

    /// Ends the `wait(for:)` steps that wait for this name, now or later.
    public func signal(_ name: String) {
        signals.record(name)
    }

    /// Closes all connections and accepts no more.
    public func stop() { descriptors.stop() }
}
