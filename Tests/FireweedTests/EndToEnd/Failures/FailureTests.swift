import Fireweed
import FixtureServer
import Foundation
import Testing

/// What a server does, and the code that comes of it.
struct Fault: Sendable, CustomTestStringConvertible {
    let name: String
    let script: [ScriptedServer.Action]
    let code: URLError.Code
    var testDescription: String { name }
}

@Suite("Failures of the exchange", .timeLimit(.minutes(TestTimeouts.minutes)))
struct FailureTests {
    let session = Session.isolated()

    static let faults: [Fault] = [
        Fault(name: "closed without an answer", script: [.receiveHead, .close], code: .networkConnectionLost),
        Fault(name: "reset without an answer", script: [.receiveHead, .reset], code: .networkConnectionLost),
        Fault(
            name: "reset in mid-content",
            script: [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), .reset],
            code: .networkConnectionLost),
        Fault(
            name: "truncated content",
            script: [.receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), .close],
            code: .networkConnectionLost),
        Fault(
            name: "malformed status line", script: [.receiveHead, .send("NOT HTTP AT ALL\r\n\r\n"), .close],
            code: .badServerResponse),
        Fault(
            name: "malformed chunk",
            script: [.receiveHead, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n"), .close],
            code: .cannotParseResponse),
        Fault(
            name: "header section too large",
            script: [
                .receiveHead, .send("HTTP/1.1 200 OK\r\n"),
                .sendRepeatedly("X-Filler: \(String(repeating: "x", count: 1000))\r\n", count: 400), .send("\r\n"),
                .close,
            ],
            code: .dataLengthExceedsMaximum),
        Fault(
            name: "invalid content coding",
            script: [
                .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd"),
                .close,
            ],
            code: .cannotDecodeContentData),
    ]

    @Test("each fault of a server has its code", arguments: faults)
    func serverFaults(fault: Fault) async throws {
        let server = try ScriptedServer.start(fault.script)
        let error = await session.request(server.url()).serializingData().response.error
        #expect(error?.urlErrorCode == fault.code, "\(String(describing: error))")
        #expect((error?.underlyingError as? URLError)?.userInfo[TransferFailure.engineDetailKey] is String)
    }

    @Test("a port without a listener: cannotConnectToHost")
    func refused() async throws {
        let error = await session.request("http://127.0.0.1:1/").serializingData().response.error
        #expect(error?.urlErrorCode == .cannotConnectToHost)
    }

    @Test("no such name: cannotFindHost")
    func unknownHost() async {
        let error = await session.request("http://does-not-exist.invalid/").serializingData().response.error
        #expect(error?.urlErrorCode == .cannotFindHost)
    }

    @Test("silence longer than timeoutIntervalForRequest: timedOut")
    func idleTimeout() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold])
        let session = Session.isolated { $0.timeoutIntervalForRequest = 0.2 }
        let error = await session.request(server.url()).serializingData().response.error
        #expect(error?.urlErrorCode == .timedOut)
    }

    @Test("the idle time begins anew with every byte")
    func idleTimeoutResets() async throws {
        let server = try FixtureServer.start()
        // A machine that is too busy for the server gets more time.
        for doubling in 0..<7 {
            let (idle, duration) = (2 << doubling, 3 << doubling)
            let session = Session.isolated { $0.timeoutIntervalForRequest = TimeInterval(idle) }
            let url = server.url("/drip?bytes=12&duration=\(duration)")
            let response = await session.request(url).serializingData().response
            guard response.error?.urlErrorCode != .timedOut else { continue }
            #expect(try response.result.get().count == 12)
            return
        }
        Issue.record("each exchange ended by its idle time-out")
    }

    @Test("the request's own time-out wins over the session's")
    func ownTimeout() async throws {
        let server = try ScriptedServer.start([.receiveHead, .hold])
        let request = session.request(server.url()) { $0.timeoutInterval = 0.2 }
        #expect(await request.serializingData().response.error?.urlErrorCode == .timedOut)
    }

    @Test("more than timeoutIntervalForResource in all: timedOut, though bytes move")
    func resourceTimeout() async throws {
        let server = try FixtureServer.start()
        let session = Session.isolated { $0.timeoutIntervalForResource = 0.3 }
        let error = await session.request(server.url("/drip?bytes=100&duration=10")).serializingData().response.error
        #expect(error?.urlErrorCode == .timedOut)
    }

    @Test("a connection that does not come about in connectTimeout: timedOut")
    func connectTimeout() async throws {
        // A listener whose backlog is full: further connections are not answered.
        let full = try FullListener()
        var options = TransportOptions()
        options.connectTimeout = .milliseconds(200)
        let session = Session.isolated(transportOptions: options)
        let error = await session.request("http://127.0.0.1:\(full.port)/").serializingData().response.error
        #expect(error?.urlErrorCode == .timedOut)
    }

    @Test("content longer than maximumBodyByteCount: dataLengthExceedsMaximum")
    func bodyLimit() async throws {
        let server = try FixtureServer.start()
        var options = TransportOptions()
        options.maximumBodyByteCount = 1000
        let session = Session.isolated(transportOptions: options)
        let error = await session.request(server.url("/bytes/100000")).serializingData().response.error
        #expect(error?.urlErrorCode == .dataLengthExceedsMaximum)
        #expect(try await session.request(server.url("/bytes/1000")).serializingData().value.count == 1000)
    }

    @Test("too many redirects: httpTooManyRedirects")
    func tooManyRedirects() async throws {
        let server = try FixtureServer.start()
        let error = await session.request(server.url("/redirect/30")).serializingData().response.error
        #expect(error?.urlErrorCode == .httpTooManyRedirects)
    }
}
