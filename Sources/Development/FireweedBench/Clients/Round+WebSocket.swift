// Rounds over a WebSocket.

import Fireweed
import Foundation
import FoundationNetworking

extension Round {
    /// Sends messages and receives each back: with a window of 1 one after the other, otherwise as fast as possible.
    func webSocket(_ url: URL) async throws {
        let session = Session()
        let request = session.webSocketRequest(to: url)
        let task = request.webSocketTask()
        let data = Data(repeating: 0x2A, count: scenario.messageByteCount)
        let isOneAtATime = scenario.window == 1
        var received = 0
        for await event in task.streamingMessageEvents() {
            switch event.kind {
            case .connected:
                if isOneAtATime { try await task.send(.data(data)) } else { sendAll(data, over: task) }
            case .receivedMessage(let message):
                guard case .data(let back) = message, back.count == data.count else {
                    throw RoundError(text: "another message came back")
                }
                received += 1
                if received == scenario.count {
                    event.close(sending: .normalClosure)
                } else if isOneAtATime {
                    try await task.send(.data(data))
                }
            case .disconnected, .serializerFailed: break
            case .completed(let completion):
                if let error = completion.error { throw RoundError(text: "\(error)") }
            }
        }
        guard received == scenario.count else { throw RoundError(text: "\(received) messages came back") }
    }

    private func sendAll(_ data: Data, over task: WebSocketTask) {
        Task { [count = scenario.count] in
            for _ in 0..<count { try await task.send(.data(data)) }
        }
    }
}

/// The client of the Python package `websockets`, for comparison.
enum PythonRound {
    static func arguments(_ scenario: Scenario, _ url: URL) -> [String] {
        ["-c", script, url.absoluteString, "\(scenario.count)", "\(scenario.messageByteCount)", "\(scenario.window)"]
    }

    private static let script = #"""
        import asyncio, json, resource, sys, threading, time
        import websockets

        async def main(url, count, size, window):
            data = b"*" * size
            start, cpu = time.monotonic(), time.process_time()
            async with websockets.connect(url, compression=None, max_size=None, ping_interval=None) as ws:
                if window == 1:
                    for _ in range(count):
                        await ws.send(data)
                        assert len(await ws.recv()) == size
                else:
                    async def send():
                        for _ in range(count):
                            await ws.send(data)
                    sender = asyncio.create_task(send())
                    for _ in range(count):
                        assert len(await ws.recv()) == size
                    await sender
            print(json.dumps({
                "seconds": time.monotonic() - start, "cpuSeconds": time.process_time() - cpu, "count": count,
                "extraKibibytes": 0, "threads": threading.active_count(),
                "peakKibibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))

        asyncio.run(main(sys.argv[1], *map(int, sys.argv[2:5])))
        """#
}
