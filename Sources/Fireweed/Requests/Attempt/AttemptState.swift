// The life of an attempt, as a table.

import FireweedTransport

/// The stage of an attempt, and the reasons why bytes of its transfer may not move.
///
/// Pure: events go in, effects come out, and `Attempt` performs the effects outside its lock. Messages, heads and
/// failures are kept in `Attempt`; the table only knows that they exist.
struct AttemptState: Sendable {
    /// Whether the present transfer still runs.
    enum Wire: Hashable, Sendable {
        case open
        case over(hasFailed: Bool)
    }

    enum Stage: Hashable, Sendable {
        /// The attempt has not begun.
        case ready
        /// The next message is being made; there is no transfer.
        case preparing
        /// A link needs time to decide about the next message.
        case waiting
        /// A transfer runs; no head has come.
        case sent
        /// A head has come; a link or the owner decides about the response.
        case deciding(Wire)
        /// The content of the response goes to the owner.
        case delivering
        /// The response is abandoned; another message follows when its transfer has ended.
        case leaving
        /// The whole response has come and is being stored; then another message follows, or the end.
        case saving(thenProceeds: Bool)
        /// The transfer was told to end, and has not ended yet.
        case cancelling
        case ended
    }

    enum Event: Hashable, Sendable {
        /// The attempt begins.
        case start
        case suspend, resume
        /// The owner's buffer is full, or has room again.
        case full, room
        /// The owner, the deadline or a failure ends the attempt.
        case cancel
        /// A link needs time to decide about the next message.
        case waits
        /// The link has decided about the next message.
        case wakes
        /// The next message cannot be sent.
        case fails
        /// The next message is ready, and has its transfer.
        case sends
        /// The head came, and a link or the owner is asked about it.
        case asks
        /// A head came, and no link or owner has to be asked about it.
        case delivers
        /// The link or owner that was asked lets the response pass.
        case passes
        /// The response is abandoned for another message; `isRecorded` when the response is to be stored nevertheless.
        case leaves(isRecorded: Bool)
        /// The transfer has ended; `isRecorded` when a whole response is to be stored.
        case finishes(hasFailed: Bool, isRecorded: Bool)
        /// The transfer has ended without a response, and a link has given a message or an answer to replace it.
        case fallsBack
        /// The response is stored, or there was nothing to store.
        case saved
    }

    /// The effects of an event, performed in the order below.
    struct Effects: OptionSet, Hashable, Sendable {
        let rawValue: UInt16

        /// Send the next message down the chain.
        static let launch = Effects(rawValue: 1 << 0)
        /// Notify the waiting link that its decision is not needed any more.
        static let stopWaiting = Effects(rawValue: 1 << 1)
        /// Start the transfer.
        static let startTransfer = Effects(rawValue: 1 << 2)
        /// Tell the transfer which bytes may move.
        static let setFlow = Effects(rawValue: 1 << 3)
        /// Discard the rest of the response.
        static let discard = Effects(rawValue: 1 << 4)
        static let cancelTransfer = Effects(rawValue: 1 << 5)
        /// Continue with the message that follows.
        static let proceed = Effects(rawValue: 1 << 6)
        /// Store the response.
        static let save = Effects(rawValue: 1 << 7)
        /// Notify the owner of the end.
        static let end = Effects(rawValue: 1 << 8)
    }

    private(set) var stage = Stage.ready
    private(set) var holds = TransferHolds()
    /// True once a cancel waits for the transfer, or for the message that is being made; later decisions have no
    /// effect.
    private(set) var isCancelled = false
    /// Whether the response of a transfer that has ended is to be stored.
    private var isRecorded = false

    /// True from the beginning of the attempt to its end.
    var isRunning: Bool { stage != .ready && stage != .ended }

    /// True while there is a transfer whose flow can be set.
    private var hasTransfer: Bool {
        switch stage {
        case .sent, .deciding(.open), .delivering, .leaving: true
        case .ready, .preparing, .waiting, .deciding(.over), .saving, .cancelling, .ended: false
        }
    }

    mutating func handle(_ event: Event) -> Effects {
        switch event {
        case .suspend: return change { $0.insert(.suspended) }
        case .resume: return change { $0.remove(.suspended) }
        case .full: return stage == .delivering ? change { $0.insert(.full) } : []
        case .room: return change { $0.remove(.full) }
        case .cancel: return cancel()
        case .start: return stage == .ready ? become(.preparing, .launch) : []
        case .waits: return stage == .preparing ? isCancelled ? end() : become(.waiting) : []
        case .fails: return stage == .preparing || stage == .waiting ? end() : []
        case .wakes: return stage == .waiting ? become(.preparing) : []
        case .sends: return stage == .preparing ? isCancelled ? end() : become(.sent, .startTransfer) : []
        case .asks:
            guard stage == .sent else { return [] }
            holds.insert(.deciding)
            return become(.deciding(.open))
        case .delivers: return stage == .sent ? become(.delivering) : []
        case .passes: return pass()
        case .leaves(let isRecorded): return leave(isRecorded)
        case .finishes(let hasFailed, let isRecorded): return finish(hasFailed, isRecorded)
        case .fallsBack: return stage == .sent ? proceed() : finish(true, false)
        case .saved:
            guard case .saving(let proceeds) = stage else { return [] }
            return proceeds ? proceed() : end()
        }
    }

    // MARK: Events

    private mutating func cancel() -> Effects {
        switch stage {
        case .ready, .saving: return end()
        case .waiting, .deciding(.over): return [.stopWaiting, end()]
        case .sent, .delivering:
            isCancelled = true
            return become(.cancelling, .cancelTransfer)
        case .deciding(.open):
            isCancelled = true
            return become(.cancelling, [.stopWaiting, .cancelTransfer])
        case .leaving:
            isCancelled = true
            return .cancelTransfer
        case .preparing:
            isCancelled = true  // `.waits` and `.sends` check it
            return []
        case .cancelling, .ended: return []
        }
    }

    private mutating func pass() -> Effects {
        guard case .deciding(let wire) = stage else { return [] }
        let effects = change { $0.remove(.deciding) }
        switch wire {
        case .open: return effects.union(become(.delivering))
        case .over(hasFailed: false) where isRecorded: return become(.saving(thenProceeds: false), .save)
        case .over: return end()
        }
    }

    private mutating func leave(_ isRecorded: Bool) -> Effects {
        switch stage {
        case .deciding(.over): return saveAndProceed()
        case .sent, .deciding(.open):
            // A response is stored only if it comes whole, so it is not discarded.
            let effects = become(.leaving, isRecorded ? [] : .discard)
            return effects.union(change { $0.remove([.deciding, .full]) })
        case .ready, .preparing, .waiting, .delivering, .leaving, .saving, .cancelling, .ended: return []
        }
    }

    private mutating func finish(_ hasFailed: Bool, _ isRecorded: Bool) -> Effects {
        switch stage {
        case .deciding(.open):
            self.isRecorded = isRecorded && !hasFailed
            return become(.deciding(.over(hasFailed: hasFailed)))
        case .delivering where isRecorded && !hasFailed: return become(.saving(thenProceeds: false), .save)
        case .leaving:
            self.isRecorded = isRecorded && !hasFailed
            return isCancelled ? end() : saveAndProceed()
        case .sent, .delivering, .cancelling: return end()
        case .ready, .preparing, .waiting, .deciding(.over), .saving, .ended: return []
        }
    }

    // MARK: Changes

    private mutating func saveAndProceed() -> Effects {
        isRecorded ? become(.saving(thenProceeds: true), .save) : proceed()
    }

    /// Continues with another message; the reasons `deciding` and `full` concerned the last response only.
    private mutating func proceed() -> Effects {
        holds.remove([.deciding, .full])
        isRecorded = false
        return become(.preparing, .proceed)
    }

    private mutating func end() -> Effects {
        become(.ended, .end)
    }

    private mutating func become(_ next: Stage, _ effects: Effects = []) -> Effects {
        stage = next
        return effects
    }

    private mutating func change(_ change: (inout TransferHolds) -> Void) -> Effects {
        let before = holds.flow
        change(&holds)
        return hasTransfer && holds.flow != before ? .setFlow : []
    }
}
