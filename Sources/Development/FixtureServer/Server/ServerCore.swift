// The callbacks between libmicrohttpd and the handlers.

import CMicrohttpd
import CZlib
import Dispatch
import FireweedTesting
import FixtureEndpoints
import Foundation
import Glibc
import Synchronization

/// Owns the daemon of libmicrohttpd.
final class Daemon: @unchecked Sendable {
    // SAFETY: both properties are `let`s of `Sendable` types. The mutex holds the daemon's address, which `stop` takes
    // once; 0 afterwards.
    private let daemon: Mutex<UInt>
    private let core: ServerCore

    /// Starts a daemon on a listening socket; with a certificate and its key, both in PEM, the daemon speaks TLS.
    init(descriptor: Int32, threads: Int, core: ServerCore, identity: (certificate: String, key: String)?) throws {
        self.core = core
        if let reason = fw_open_microhttpd() {
            close(descriptor)
            throw ServerError(description: "the server needs libmicrohttpd: \(String(cString: reason))")
        }
        let owner = Unmanaged.passUnretained(core).toOpaque()
        guard
            let started = fw_start_daemon(
                descriptor, threads > 1 ? UInt32(threads) : 0, owner, requestArrived, targetArrived, exchangeCompleted,
                connectionChanged, identity?.certificate, identity?.key)
        else {
            let hint = identity == nil ? "" : " with this certificate and key"
            throw ServerError(description: "libmicrohttpd cannot be started\(hint)")
        }
        daemon = Mutex(UInt(bitPattern: started))
    }

    func stop() {
        let taken = daemon.withLock { daemon in
            defer { daemon = 0 }
            return OpaquePointer(bitPattern: daemon)
        }
        guard let taken else { return }
        core.resumeAll()  // libmicrohttpd must not be stopped while connections are suspended
        core.sockets.endAll()
        MHD_stop_daemon(taken)
    }
}

/// The state that libmicrohttpd's callbacks use.
///
/// `Daemon` keeps this object until libmicrohttpd has stopped.
final class ServerCore: Sendable {
    let events: EventLog<FixtureServer.Event>
    /// `http`, or `https` over TLS.
    let scheme: String
    let sockets = UpgradedSockets()
    private let answering = Mutex(Answering())
    private let suspended = Mutex<(isStopping: Bool, connections: Set<UInt>)>((false, []))

    /// A struct, since a closure that is itself the value of a `Mutex` is wrapped in another thunk at each read.
    private struct Answering {
        var handler: FixtureServer.Handler = { _ in FixtureResponse(status: 503) }
        var receiver: @Sendable (ReceivedRequest) -> Reception = { _ in .memory }
    }

    init(events: EventLog<FixtureServer.Event>, scheme: String) {
        self.events = events
        self.scheme = scheme
    }

    func attach(
        answer: @escaping FixtureServer.Handler,
        receive: @escaping @Sendable (ReceivedRequest) -> Reception = { _ in .memory }
    ) {
        answering.withLock { $0 = Answering(handler: answer, receiver: receive) }
    }

    func reception(of request: ReceivedRequest) -> Reception {
        answering.withLock { $0 }.receiver(request)
    }

    func answer(_ request: ReceivedRequest) -> FixtureResponse {
        answering.withLock { $0 }.handler(request)
    }

    /// Suspends a connection for some seconds; false when the server is stopping.
    func rest(_ connection: OpaquePointer, seconds: Double) -> Bool {
        let identity = UInt(bitPattern: connection)
        let isResting = suspended.withLock { suspended in
            guard !suspended.isStopping else { return false }
            suspended.connections.insert(identity)
            MHD_suspend_connection(connection)
            return true
        }
        guard isResting else { return false }
        DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { self.resume(identity) }
        return true
    }

    private func resume(_ identity: UInt) {
        suspended.withLock { suspended in
            guard suspended.connections.remove(identity) != nil, let connection = OpaquePointer(bitPattern: identity)
            else { return }
            MHD_resume_connection(connection)
        }
    }

    func resumeAll() {
        suspended.withLock { suspended in
            suspended.isStopping = true
            for identity in suspended.connections {
                if let connection = OpaquePointer(bitPattern: identity) { MHD_resume_connection(connection) }
            }
            suspended.connections = []
        }
    }
}

/// One exchange; used only on its connection's thread.
final class ServedExchange {
    let core: ServerCore
    let target: String
    let connection: OpaquePointer
    var request: ReceivedRequest?
    private var form: FormReader?
    var response: FixtureResponse?
    var hasRested = false
    var pieceNumber = 0
    var piece = Data()

    init(core: ServerCore, target: String, connection: OpaquePointer) {
        self.core = core
        self.target = target
        self.connection = connection
    }

    /// Reads the request's head; if the content is refused, queues the response at once.
    func begin(method: String) -> MHD_Result {
        var fields: [(name: String, value: String)] = []
        withUnsafeMutablePointer(to: &fields) { pointer in
            _ = MHD_get_connection_values(connection, fw_header_kind, collectField, pointer)
        }
        var request = ReceivedRequest(
            scheme: core.scheme, method: method, target: target, fields: fields, body: Data(), bodyByteCount: 0,
            bodyChecksum: crc32(0, nil, 0))
        if request.path == "/parts" { form = FormReader(connection) }
        core.events.record(.requestReceived(target))
        let reception = core.reception(of: request)
        if case .receiver(let receiver) = reception { request.receiver = receiver }
        self.request = request
        guard case .refused(let response) = reception else { return fw_yes }
        self.response = response
        return queue(response)
    }

    func take(_ bytes: UnsafeRawBufferPointer) {
        guard var request, let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return }
        form?.take(bytes)
        self.request = nil  // with a second reference, `append` would copy the content
        request.bodyByteCount += bytes.count
        request.bodyChecksum = crc32(request.bodyChecksum, start, UInt32(bytes.count))
        if let receiver = request.receiver {
            receiver.take(bytes)
        } else if request.path != "/upload", request.path != "/parts" {
            request.body.append(contentsOf: bytes)
        }
        self.request = request
    }

    /// Answers the complete request; libmicrohttpd calls this a second time after a response's delay.
    func finish() -> MHD_Result {
        guard var request else { return fw_no }
        if let form {
            form.finish()
            request.parts = form.isWellFormed ? form.parts : nil
        }
        let response = self.response ?? core.answer(request)
        self.response = response
        if response.delay > 0, !hasRested {
            hasRested = true
            if core.rest(connection, seconds: response.delay) { return fw_yes }
        }
        if let digest = DigestChallenge(request) { return digest.answer(on: connection) }
        if response.status == 101, let echo = WebSocketEcho(request) {
            return echo.answer(on: connection, core.sockets)
        }
        return queue(response)
    }

    private func queue(_ response: FixtureResponse) -> MHD_Result {
        let made: OpaquePointer?
        switch response.body {
        case .data(let data):
            made = data.withUnsafeBytes { bytes in
                MHD_create_response_from_buffer(
                    bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), fw_must_copy)
            }
            core.events.record(.contentStarted(target))
        case .pieces(let count, _):
            made = MHD_create_response_from_callback(
                count.map(UInt64.init) ?? UInt64.max, 64 * 1024, contentWanted,
                Unmanaged.passUnretained(self).toOpaque(), nil)
        }
        guard let made else { return fw_no }
        defer { MHD_destroy_response(made) }
        for field in response.fields { MHD_add_response_header(made, field.name, field.value) }
        return MHD_queue_response(connection, UInt32(response.status), made)
    }

    /// Copies the next bytes of a response in pieces into `buffer`.
    ///
    /// Returns their count, 0 to wait, or libmicrohttpd's code for the end or for an error.
    func content(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while piece.isEmpty {
            guard case .pieces(_, let next) = response?.body else { return Int(fw_end_of_stream) }
            switch next(pieceNumber) {
            case .bytes(let data):
                piece = data
                pieceNumber += 1
                if pieceNumber == 1 { core.events.record(.contentStarted(target)) }
            case .wait(let seconds):
                pieceNumber += 1
                return core.rest(connection, seconds: seconds) ? 0 : Int(fw_end_with_error)
            case .end: return Int(fw_end_of_stream)
            }
        }
        let count = min(buffer.count, piece.count)
        piece.copyBytes(to: buffer, count: count)
        piece = piece.count == count ? Data() : piece.dropFirst(count)
        return count
    }
}

// MARK: - libmicrohttpd's calls

// libmicrohttpd calls these functions on the server's threads. The core lives until the daemon has stopped, so it is
// passed unretained; `targetArrived` retains an exchange, and `exchangeCompleted` releases it.

private func core(_ owner: UnsafeMutableRawPointer) -> ServerCore {
    Unmanaged<ServerCore>.fromOpaque(owner).takeUnretainedValue()
}

private func targetArrived(
    _ owner: UnsafeMutableRawPointer, _ target: UnsafePointer<CChar>, _ connection: OpaquePointer
) -> UnsafeMutableRawPointer? {
    let exchange = ServedExchange(core: core(owner), target: String(cString: target), connection: connection)
    return Unmanaged.passRetained(exchange).toOpaque()
}

private func requestArrived(
    _: UnsafeMutableRawPointer, _: OpaquePointer, _: UnsafePointer<CChar>, _ method: UnsafePointer<CChar>,
    _: UnsafePointer<CChar>, _ data: UnsafePointer<CChar>?, _ count: UnsafeMutablePointer<Int>,
    _ owned: UnsafeMutablePointer<UnsafeMutableRawPointer?>
) -> MHD_Result {
    guard let pointer = owned.pointee else { return fw_no }
    let exchange = Unmanaged<ServedExchange>.fromOpaque(pointer).takeUnretainedValue()
    if exchange.request == nil {
        return exchange.begin(method: String(cString: method))
    }
    if count.pointee > 0 {
        exchange.take(UnsafeRawBufferPointer(start: data, count: count.pointee))
        count.pointee = 0
        return fw_yes
    }
    return exchange.finish()
}

private func exchangeCompleted(
    _: UnsafeMutableRawPointer, _: OpaquePointer, _ owned: UnsafeMutablePointer<UnsafeMutableRawPointer?>,
    _ code: MHD_RequestTerminationCode
) {
    guard let pointer = owned.pointee else { return }
    owned.pointee = nil
    let exchange = Unmanaged<ServedExchange>.fromOpaque(pointer).takeRetainedValue()
    // The receiver is released before the event is recorded: a test that waits for the event sees the effects of the
    // receiver's `deinit`.
    exchange.request = nil
    exchange.core.events.record(.completed(exchange.target, isWhole: code == fw_completed_ok))
}

private func connectionChanged(
    _ owner: UnsafeMutableRawPointer, _: OpaquePointer, _: UnsafeMutablePointer<UnsafeMutableRawPointer?>,
    _ code: MHD_ConnectionNotificationCode
) {
    core(owner).events.record(code == fw_connection_started ? .connectionOpened : .connectionClosed)
}

private func collectField(
    _ owner: UnsafeMutableRawPointer?, _: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> MHD_Result {
    let fields = owner?.assumingMemoryBound(to: [(name: String, value: String)].self)
    fields?.pointee.append((name.map { String(cString: $0) } ?? "", value.map { String(cString: $0) } ?? ""))
    return fw_yes
}

private func contentWanted(
    _ owner: UnsafeMutableRawPointer?, _: UInt64, _ buffer: UnsafeMutablePointer<CChar>?, _ count: Int
) -> Int {
    guard let owner else { return Int(fw_end_with_error) }
    let exchange = Unmanaged<ServedExchange>.fromOpaque(owner).takeUnretainedValue()
    return exchange.content(into: UnsafeMutableRawBufferPointer(start: buffer, count: count))
}
