// A server whose script says which bytes go out and when: for what a correct server never sends.

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
    private let listener: Int32
    private let scripts: [[Action]]
    private let open = Mutex<(isStopping: Bool, descriptors: Set<Int32>)>((false, []))

    /// Starts a server; the scripts are for one connection each.
    public static func start(_ scripts: [Action]..., on address: LoopbackAddress = .ipv4) throws -> ScriptedServer {
        try start(scripts: scripts, on: address)
    }

    /// Starts a server; the scripts are for one connection each.
    public static func start(scripts: [[Action]], on address: LoopbackAddress = .ipv4) throws -> ScriptedServer {
        let (descriptor, port) =
            switch address {
            case .ipv4: try LoopbackSocket.listen(port: 0)
            case .ipv6: try LoopbackSocket.listenIPv6()
            }
        return run(ScriptedServer(listener: descriptor, address: address, port: port, scripts: scripts))
    }

    /// Starts a server on a port of 127.0.0.1; 0 for a free one.
    public static func start(port: UInt16, _ scripts: [[Action]]) throws -> ScriptedServer {
        let (descriptor, port) = try LoopbackSocket.listen(port: port)
        return run(ScriptedServer(listener: descriptor, address: .ipv4, port: port, scripts: scripts))
    }

    private static func run(_ server: ScriptedServer) -> ScriptedServer {
        let descriptor = server.listener
        let thread = Thread { [weak server] in Self.accept(descriptor) { server } }
        thread.start()
        return server
    }

    private init(listener: Int32, address: LoopbackAddress, port: UInt16, scripts: [[Action]]) {
        self.address = address
        self.listener = listener
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
    public func stop() {
        let descriptors = open.withLock { open -> Set<Int32>? in
            guard !open.isStopping else { return nil }
            open.isStopping = true
            return open.descriptors
        }
        guard let descriptors else { return }
        for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
        shutdown(listener, Int32(SHUT_RDWR))  // wakes the thread in accept, which closes it
    }

    private static func accept(_ listener: Int32, server: () -> ScriptedServer?) {
        var number = 0
        while true {
            let descriptor = Glibc.accept(listener, nil, nil)
            guard descriptor >= 0, let server = server() else { break }
            guard server.adopt(descriptor) else { break }
            let script = server.scripts.isEmpty ? [] : server.scripts[min(number, server.scripts.count - 1)]
            let connection = ScriptedConnection(
                descriptor: descriptor, number: number, events: server.events, signals: server.signals)
            number += 1
            Thread { [weak server] in
                connection.play(script)
                server?.forget(descriptor)
                close(descriptor)
            }.start()
        }
        close(listener)
    }

    private func adopt(_ descriptor: Int32) -> Bool {
        open.withLock { open in
            guard !open.isStopping else {
                close(descriptor)
                return false
            }
            open.descriptors.insert(descriptor)
            return true
        }
    }

    private func forget(_ descriptor: Int32) {
        _ = open.withLock { $0.descriptors.remove(descriptor) }
    }
}
