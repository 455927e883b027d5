import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Rates of content", .timeLimit(.minutes(TestTimeouts.minutes)))
struct PaceTests {
    private static let second: LoopInstant = 1_000_000_000

    @Test(
        "bytes that move as soon as they may keep the rate on average",
        arguments: [(rate: 1, piece: 1), (1000, 7), (64 * 1024, 16 * 1024), (10_000_000, 65536)])
    func average(rate: Int, piece: Int) {
        var pace = Pace(bytesPerSecond: rate, burst: 4 * piece)
        let start = 5 * Self.second
        var now = start
        var moved = 0
        for _ in 0..<1000 {
            if let end = pace.pauseEnd(at: now) {
                #expect(end > now)
                now = end
            }
            #expect(pace.pauseEnd(at: now) == nil)
            pace.move(piece, at: now)
            moved += piece
        }
        let due = UInt64(moved) * Self.second / UInt64(rate)
        let burst = max(UInt64(5 * piece) * Self.second / UInt64(rate), Self.second / 4 + due / 1000)
        #expect(now - start <= due && now - start + burst >= due)
    }

    @Test("a pause saves up no more than the burst")
    func idle() {
        var pace = Pace(bytesPerSecond: 1000, burst: 500)
        pace.move(500, at: Self.second)
        let now = 1000 * Self.second
        #expect(pace.allowance(at: now) == 1024 && pace.pauseEnd(at: now) == nil)
        pace.move(1500, at: now)
        #expect(pace.pauseEnd(at: now) == now + Self.second)
    }

    @Test("numbers as large as they come do not overflow, and no rate is none")
    func extremes() {
        var pace = Pace(bytesPerSecond: .max, burst: .max)
        pace.move(.max, at: .max)
        #expect(pace.pauseEnd(at: .max) == nil && pace.allowance(at: 0) > 0)
        var slow = Pace(bytesPerSecond: 1, burst: .max)
        slow.move(.max, at: 0)
        #expect(slow.allowance(at: .max) >= 1024)
        for rate in [nil, 0, -1] { #expect(Pace(rate, burst: 1) == nil) }
        #expect(ExchangePace.make(TransportOptions()) == nil)
    }

    /// A lower bound of time holds on a machine of any load.
    @Test("content comes and goes no faster than its rate", arguments: [true, false])
    func exchanges(isReceiving: Bool) async throws {
        let byteCount = 300 * 1024
        let content = Data(repeating: 7, count: byteCount)
        let server = try ScriptedServer.start(
            isReceiving
                ? [
                    .receiveHead, .send("HTTP/1.1 200 OK\r\nContent-Length: \(byteCount)\r\n\r\n"),
                    .sendData(content), .hold,
                ] : [.receiveHead, .receive(byteCount: byteCount), .send(Answer.small), .hold])
        try await EngineStage.play({
            $0.maximumReceivedBytesPerSecond = isReceiving ? 256 * 1024 : nil
            $0.maximumSentBytesPerSecond = isReceiving ? nil : 256 * 1024
        }) { stage in
            let start = ContinuousClock.now
            let transfer = try await stage.end(server.url()) {
                $0.wantsReadComplete = true
                guard !isReceiving else { return }
                $0.method = "PUT"
                $0.body = .data(content)
            }
            #expect(transfer.code == nil, "\(transfer.failureText)")
            #expect(isReceiving ? transfer.record.content == content : true)
            #expect(ContinuousClock.now - start > .milliseconds(isReceiving ? 400 : 800))
        }
    }
}
