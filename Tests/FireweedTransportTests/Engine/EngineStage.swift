// The servers and sessions of the engine's own tests.

import FixtureServer
import Foundation
import Synchronization
import Testing

@testable import FireweedTransport

/// A transport with event loops of its own for one test.
///
/// On a shared loop, the connections of other tests would matter: closing one of them frees a descriptor.
final class EngineStage: Sendable {
    let transport: EngineTransport
    private let loops: [EventLoop]
    private let transfers = Mutex<[RecordedTransfer]>([])
    /// The loops that no test uses; a loop lives as long as its process.
    private static let freeLoops = Mutex<[EventLoop]>([])

    private init(_ settings: PoolSettings, _ parts: EngineParts) {
        let loops = Self.takeLoops(settings.options.eventLoops)
        self.loops = loops
        transport = EngineTransport(settings: settings, parts: parts) { loops }
    }

    private static func takeLoops(_ count: Int) -> [EventLoop] {
        freeLoops.withLock { free in
            while free.count < count, let loop = EventLoop(name: "test-loop") { free.append(loop) }
            defer { free.removeLast(min(count, free.count)) }
            return Array(free.suffix(count))
        }
    }

    /// Shuts the transport down; other tests get its loops when its connections are closed.
    private func shutDown() {
        transport.shutDown()
        for loop in loops {
            loop.post { context in
                _ = context.finishClosing()
                Self.freeLoops.withLock { $0.append(loop) }
            }
        }
    }

    /// Runs a test, then shuts the transport down, waits for the end of each transfer, and reports what broke the
    /// contract.
    static func play(
        limit: Int = 6, parts: EngineParts = EngineParts(), _ change: (inout TransportOptions) -> Void = { _ in },
        sourceLocation: SourceLocation = #_sourceLocation, _ body: (EngineStage) async throws -> Void
    ) async throws {
        var options = TransportOptions()
        change(&options)
        let stage = EngineStage(PoolSettings(options: options, maximumConnectionsPerHost: limit), parts)
        do {
            try await body(stage)
        } catch {
            stage.shutDown()
            throw error
        }
        stage.shutDown()
        for transfer in stage.transfers.withLock({ $0 }) where transfer.isOwedAnEnd {
            try await transfer.end()
            #expect(transfer.record.violations.isEmpty, sourceLocation: sourceLocation)
        }
    }

    /// Makes a transfer, which is not started yet.
    func transfer(
        _ url: URL, _ change: (inout RequestMessage) -> Void = { _ in },
        afterHead: @escaping TransferRecorder.Answer = { _, _ in .undecided },
        afterContent: @escaping TransferRecorder.Answer = { _, _ in .undecided }
    ) -> RecordedTransfer {
        var message = RequestMessage(url: url.absoluteString, idleTimeout: 0)
        change(&message)
        let recorder = TransferRecorder(
            wantsReadComplete: message.wantsReadComplete, afterHead: afterHead, afterContent: afterContent,
            whenReleased: {})
        let transfer = RecordedTransfer(control: transport.makeTransfer(of: message, for: recorder), recorder: recorder)
        transfers.withLock { $0.append(transfer) }
        return transfer
    }

    /// Makes a transfer, starts it and waits for its end.
    func end(_ url: URL, _ change: (inout RequestMessage) -> Void = { _ in }) async throws -> RecordedTransfer {
        let transfer = transfer(url, change)
        transfer.start()
        try await transfer.end()
        return transfer
    }
}

extension RecordedTransfer {
    /// The code of the failure, `nil` without one.
    var code: URLError.Code? { record.end?.code }

    /// The sentence of the failure, empty without one.
    var failureText: String { record.end?.failure?.urlError(failingURL: "").localizedDescription ?? "" }
}

/// Answers that servers send in these tests.
enum Answer {
    static let small = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    static let empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
}
