import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("WebSocket limits", .timeLimit(.minutes(TestTimeouts.minutes)))
struct WebSocketExtremesTests {
    private let sessions = ProtectedList<Session>()

    /// Kept, since requests end with their session.
    private func session(
        interceptor: (any RequestInterceptor)? = nil, transportOptions: TransportOptions = TransportOptions(),
        configure: (URLSessionConfiguration) -> Void = { _ in }
    ) -> Session {
        let session = Session.isolated(
            interceptor: interceptor, transportOptions: transportOptions, configure: configure)
        sessions.append(session)
        return session
    }

    /// Sends a message of so many bytes, and closes.
    private func peer(byteCount: Int) throws -> WebSocketPeer {
        try WebSocketPeer { connection in
            try connection.send(.init(2, [UInt8](repeating: 7, count: byteCount)))
            try connection.send(.init(8, [0x03, 0xE8]))
            connection.waitForEnd()
        }
    }

    @Test(
        "the longest message: nothing is accepted below zero, and anything at the largest number",
        arguments: [(-1, 1, false), (Int.min, 1, false), (-1, 0, true), (0, 0, true), (Int.max, 1, true)])
    func messageSize(limit: Int, byteCount: Int, isAccepted: Bool) async throws {
        let peer = try peer(byteCount: byteCount)
        for compression in [nil, WebSocketCompression()] {
            let configuration = WebSocketRequest.Configuration(maximumMessageSize: limit, compression: compression)
            let sights = await session().webSocketRequest(to: peer.url, configuration: configuration)
                .webSocketTask().sights()
            let code = isAccepted ? nil : "\(URLError.Code.dataLengthExceedsMaximum.rawValue)"
            #expect(sights.last == .completed(code))
            #expect(sights.contains(.data(Data(repeating: 7, count: byteCount))) == isAccepted)
        }
    }

    @Test(
        "an interval of pings that is no time sends none",
        arguments: [TimeInterval.infinity, -.infinity, .nan, -1, 0, 1e300])
    func pingInterval(interval: TimeInterval) async throws {
        let peer = try peer(byteCount: 1)
        let sights = await session().webSocketRequest(to: peer.url, configuration: .pingInterval(interval))
            .webSocketTask().sights()
        #expect(sights.last == .completed(nil))
    }

    @Test(
        "time-outs that are no time mean none, and do not trap",
        arguments: [TimeInterval.infinity, -.infinity, .nan, -1, 0, 1e300])
    func timeouts(seconds: TimeInterval) async throws {
        let peer = try peer(byteCount: 1)
        let server = try FixtureServer.start()
        let session = self.session {
            $0.timeoutIntervalForRequest = seconds
            $0.timeoutIntervalForResource = seconds
        }
        #expect(await session.webSocketRequest(to: peer.url).webSocketTask().sights().last == .completed(nil))
        let request = session.request(server.url("/get")) { $0.timeoutInterval = seconds }
        #expect(await request.serializingData().response.error == nil)
    }

    @Test("a delay of a retry that is no time is no delay, or lasts until the request is cancelled")
    func retryDelays() async throws {
        for delay in [-TimeInterval.infinity, .nan, -1] {
            let retrier = Retrier { request, _, _, completion in
                completion(request.retryCount == 0 ? .retryWithDelay(delay) : .doNotRetry)
            }
            let request = session(interceptor: retrier).request("http://127.0.0.1:1/")
            #expect(await request.serializingData().response.error != nil && request.retryCount == 1)
        }
        for delay in [TimeInterval.infinity, 1e300] {
            let retrier = Retrier { request, _, _, completion in
                completion(.retryWithDelay(delay))
                request.cancel()
            }
            let request = session(interceptor: retrier).request("http://127.0.0.1:1/")
            _ = await request.serializingData().response
            #expect(request.isCancelled)
        }
    }

    @Test("options of extreme durations and numbers neither trap nor end requests")
    func options() async throws {
        let server = try FixtureServer.start()
        for duration in [Duration.seconds(Int64.max), .seconds(Int64.min), .zero] {
            var options = TransportOptions()
            options.connectTimeout = duration
            options.maximumConnectionIdleTime = duration
            options.eventLoops = duration > .zero ? 2 : .min
            options.maximumFramingByteCount = .max
            options.maximumHeaderByteCount = .max
            options.receiveBufferByteCount = .max
            let session = self.session(transportOptions: options) { $0.httpMaximumConnectionsPerHost = .max }
            #expect(await session.request(server.url("/get")).serializingData().response.error == nil)
        }
    }

    @Test("limits of lines and events may be the largest number; times of reconnections too")
    func streams() async throws {
        let server = try FixtureServer.start()
        server.route("/events") { _ in .text("data: a\n\n", type: "text/event-stream") }
        let session = self.session()
        let reconnection = ServerSentEvent.Reconnection(
            delay: .seconds(Int64.max), maximumDelay: .seconds(Int64.max), maximumFailureCount: 3)
        let request = session.streamRequest(server.url("/events"))
        for try await event in request.serverSentEvents(reconnection: reconnection, maximumEventByteCount: .max) {
            #expect(event.data == "a")
            break
        }
        for try await line in session.streamRequest(server.url("/events")).lines(maximumLineByteCount: .max) {
            #expect(line == "data: a")
            break
        }
    }
}
