// Transfers whose content arrives slowly.

import Dispatch
import Fireweed
import Foundation
import Synchronization

/// Controls a transfer whose content arrives slowly.
final class SlowTransfer: TransferControl {
    private let base: any TransferControl
    private let consumer: SlowConsumer

    init(_ base: any TransferControl, _ consumer: SlowConsumer) {
        self.base = base
        self.consumer = consumer
    }

    func start(_ flow: Flow) {
        guard let first = consumer.attach(base, flow) else { return }
        base.start(first)
    }

    func setFlow(_ flow: Flow) { consumer.follow(flow) }

    func discard() {
        consumer.dropContent()
        base.discard()
    }

    func cancel() {
        consumer.dropContent()
        base.cancel()
    }
}

/// Delivers a response's content to the session's consumer at a limited number of bytes a second.
///
/// All events pass through one queue, so that calls to the session's consumer do not overlap. The transport is paused
/// while content waits here.
final class SlowConsumer: TransferConsumer {
    private enum Event: Sendable {
        case interim(ResponseHead)
        case challenge(ResponseHead)
        case head(ResponseHead)
        case sent(Int, total: Int64, expected: Int64?)
        case content(Data)
        case readComplete
        case end(TransferEnd)
    }

    private struct State {
        var events: [Event] = []
        /// The flow that the session wants.
        var wanted = Flow.undecided
        /// The last flow given to the transport; its revision numbers are counted here, and differ from the session's.
        var told = Flow(.running, revision: 1)
        /// The wrapped transfer, between its start and its end.
        var control: (any TransferControl)?
        /// Whether a pause between two pieces is running.
        var isPausing = false
        /// The scheduled end of the pause.
        var pause: (any ScheduledCall)?
        /// Whether the session wants no more content.
        var isUnwanted = false

        var hasContent: Bool {
            events.contains { event in
                if case .content = event { true } else { false }
            }
        }

        /// Returns the next flow for the transport; `nil` when the level does not change.
        mutating func nextFlow() -> Flow? {
            let level: Flow.Level =
                wanted.level == .running && hasContent && !isUnwanted ? .receivingPaused : wanted.level
            guard level != told.level else { return nil }
            told = Flow(level, revision: told.revision + 1)
            return told
        }

        /// Removes and returns the next event or piece of content; `nil` when nothing can be passed on now.
        mutating func next(_ pieceByteCount: Int) -> Event? {
            guard let first = events.first else { return nil }
            switch first {
            case .end: break
            case .interim, .challenge, .head, .sent: if wanted.level == .suspended { return nil }
            case .readComplete: if isPausing || wanted.level != .running { return nil }
            case .content(let data):
                guard !isPausing, wanted.level == .running else { return nil }
                guard data.count > pieceByteCount else { break }
                events[0] = .content(Data(data.dropFirst(pieceByteCount)))
                return .content(data.prefix(pieceByteCount))
            }
            return events.removeFirst()
        }
    }

    private let base: any TransferConsumer
    private let clock: any SessionClock
    private let pieceByteCount: Int
    private let pause: Duration
    private let queue = DispatchQueue(label: "fireweed.faults.slow")
    private let state = Mutex(State())

    /// Makes a consumer that delivers about ten pieces a second; below 20 bytes a second, a piece is one byte.
    init(_ base: any TransferConsumer, bytesPerSecond: Int, clock: any SessionClock) {
        self.base = base
        self.clock = clock
        let rate = max(1, bytesPerSecond)
        pieceByteCount = max(1, rate / 10)
        pause = .nanoseconds(Int64(1_000_000_000 * Double(pieceByteCount) / Double(rate)))
    }

    // MARK: From the session

    /// Stores the transfer, and returns its first flow; `nil` when a transfer was stored before.
    func attach(_ control: any TransferControl, _ flow: Flow) -> Flow? {
        state.withLock { state in
            guard state.control == nil else { return nil }
            state.control = control
            _ = state.wanted.follow(flow)
            return state.nextFlow() ?? state.told
        }
    }

    func follow(_ flow: Flow) {
        let isNews = state.withLock { $0.wanted.follow(flow) }
        if isNews { handOn() }
    }

    func dropContent() {
        let pause = state.withLock { state in
            state.isUnwanted = true
            // No content is left to pace. The call at the end of the pause is cancelled, so the pause ends here.
            state.isPausing = false
            defer { state.pause = nil }
            return state.pause
        }
        pause?.cancel()
        state.withLock { state in
            state.events.removeAll { event in
                switch event {
                case .content, .readComplete: true
                default: false
                }
            }
        }
        handOn()
    }

    // MARK: From the transport

    func transferDidReceiveInterim(_ head: ResponseHead) { add(.interim(head)) }
    func transferDidAnswerChallenge(_ head: ResponseHead) { add(.challenge(head)) }
    func transferDidCompleteRead() { add(.readComplete) }
    func transferDidFinish(_ end: consuming TransferEnd) { add(.end(end)) }

    func transferDidSend(_ byteCount: Int, total: Int64, expected: Int64?) {
        add(.sent(byteCount, total: total, expected: expected))
    }

    func transferDidReceive(_ head: ResponseHead) -> Flow {
        add(.head(head))
        return .undecided
    }

    func transferDidReceive(_ content: borrowing ContentBytes) -> Flow {
        let data = Data(content.bytes)
        let flow = state.withLock { state in
            guard !state.isUnwanted, !data.isEmpty else { return state.told }
            state.events.append(.content(data))
            return state.nextFlow() ?? state.told
        }
        handOn()
        return flow
    }

    private func add(_ event: Event) {
        state.withLock { $0.events.append(event) }
        handOn()
    }

    // MARK: The queue

    private func handOn() {
        queue.async { [self] in
            while let event = state.withLock({ $0.next(pieceByteCount) }) { tell(event) }
            let (control, flow) = state.withLock { ($0.control, $0.nextFlow()) }
            if let flow { control?.setFlow(flow) }
        }
    }

    private func tell(_ event: Event) {
        switch event {
        case .interim(let head): base.transferDidReceiveInterim(head)
        case .challenge(let head): base.transferDidAnswerChallenge(head)
        case .readComplete: base.transferDidCompleteRead()
        case .sent(let count, let total, let expected):
            base.transferDidSend(count, total: total, expected: expected)
        case .head(let head):
            let flow = base.transferDidReceive(head)
            state.withLock { _ = $0.wanted.follow(flow) }
        case .content(let data):
            let flow = data.withUnsafeBytes { base.transferDidReceive(ContentBytes($0)) }
            state.withLock { state in
                _ = state.wanted.follow(flow)
                state.isPausing = true
            }
            let call = clock.schedule(.delay, after: pause, on: queue) { [self] in
                state.withLock { $0.isPausing = false }
                handOn()
            }
            let isUnwanted = state.withLock { state in
                state.pause = call
                if state.isUnwanted { state.isPausing = false }
                return state.isUnwanted
            }
            if isUnwanted { call.cancel() }
        case .end(let end):
            state.withLock { $0.control = nil }
            base.transferDidFinish(end)
        }
    }
}
