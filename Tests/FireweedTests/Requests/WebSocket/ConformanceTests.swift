import Fireweed
import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@Suite("Conformance to RFC 6455, by the numbers of the Autobahn case list", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ConformanceTests {
    private static let session = Session.isolated()

    @Test("sends the right frames back, and closes as it should", arguments: ConformanceCase.all)
    func conforms(to row: ConformanceCase) async throws {
        let verdicts = EventLog<[WebSocketPeer.Frame]>()
        let peer = try WebSocketPeer { connection in verdicts.note(try Self.play(row, on: connection)) }
        let configuration = WebSocketRequest.Configuration.maximumMessageSize(32 << 20)
        let task = Self.session.webSocketRequest(to: peer.url, configuration: configuration).webSocketTask()
        let sights = await task.echo()
        let frames = try await verdicts.first { _ in true }
        judge(row, frames, sights)
    }

    /// The peer's side: sends, reads what the row expects, closes where the row does not, and reads to the end.
    private static func play(_ row: ConformanceCase, on connection: WebSocketPeerConnection) throws
        -> [WebSocketPeer.Frame]
    {
        let bytes = row.frames.flatMap(\.bytes)
        var frames: [WebSocketPeer.Frame] = []
        switch row.outcome {
        case .clean(let expected):
            // A testee that echoes while we still send must not wait for us to read.
            let sender = Thread { try? connection.send(bytes: bytes, size: row.size) }
            sender.start()
            for _ in expected { frames.append(try connection.receive()) }
            try connection.send(.init(8, [0x03, 0xE8]))
        case .failure: try? connection.send(bytes: bytes, size: row.size)
        case .closed(_, let before):
            let last = row.frames.firstIndex { $0.opcode == 8 } ?? 0
            try connection.send(bytes: row.frames[..<last].flatMap(\.bytes), size: row.size)
            for _ in before { frames.append(try connection.receive()) }
            try? connection.send(bytes: row.frames[last...].flatMap(\.bytes), size: row.size)
        }
        return frames + connection.receiveAll()
    }

    private func judge(_ row: ConformanceCase, _ frames: [WebSocketPeer.Frame], _ sights: [WebSocketSight]) {
        let code = frames.last.flatMap {
            $0.opcode == 8 && $0.payload.count >= 2 ? Int($0.payload[0]) << 8 | Int($0.payload[1]) : nil
        }
        let before = Array(frames.dropLast())
        #expect(frames.last?.opcode == 8, "\(row.number) is answered with a close frame")
        switch row.outcome {
        case .clean(let expected):
            #expect(sorted(before) == sorted(expected) && code == 1000)
            #expect(sights.last == .completed(nil) && sights.dropLast().last == .disconnected(1000, nil))
        case .failure(let expected, let allowed):
            #expect(code == Int(expected), "\(row.number) ends with \(expected)")
            #expect(before.allSatisfy(allowed.contains))
            guard case .completed(.some)? = sights.last else {
                Issue.record("\(row.number) is no failure: \(sights)")
                return
            }
        case .closed(let expected, let after):
            #expect(before == after && code == (expected == 0 ? nil : Int(expected)))
            let shown = expected == 0 ? 1005 : Int(expected)
            guard case .disconnected(shown, _)? = sights.dropLast().last else {
                Issue.record("\(row.number) was not closed with \(shown): \(sights)")
                return
            }
            #expect(sights.last == .completed(nil))
        }
    }

    /// Pongs may overtake messages; among each other both keep their order.
    private func sorted(_ frames: [WebSocketPeer.Frame]) -> [WebSocketPeer.Frame] {
        frames.filter { $0.opcode >= 8 } + frames.filter { $0.opcode < 8 }
    }
}
