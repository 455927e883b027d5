// The life of an attempt, as a table.

import FireweedTransport

/// Where an attempt stands, and why bytes of its transfer may not move.
///
/// Pure: events go in, effects come out, and `Attempt` performs them outside its lock. Messages, heads and failures are
/// kept beside it; the table knows only that they are there.
struct AttemptState: Sendable {
    /// What the present transfer has said of its end.
    enum Wire: Hashable, Sendable {
        case open
        case over(hasFailed: Bool)
    }

    enum Stage: Hashable, Sendable {
        /// It has not begun.
        case ready
        /// The next message is being made; there is no transfer.
        case preparing
        /// A link needs time for the next message.
        case waiting
        /// A transfer runs, and its head has not come.
        case sent
        /// The head is there. Somebody decides what becomes of the response.
        case deciding(Wire)
        /// The content of the response goes to the owner.
        case delivering
        /// The rest of the response is not wanted; another message follows when its transfer has ended.
        case leaving
        /// Everything has come. Somebody decides what is stored of it; then another message follows, or the end.
        case saving(thenGoesOn: Bool)
        /// The transfer was told to end, and has not done so yet.
        case cancelling
        case ended
    }

    enum Event: Hashable, Sendable {
        /// Somebody wants the attempt to begin.
        case start
        case suspend, resume
        /// The consumer has enough of it, or has room again.
        case full, room
        /// The attempt is to end: its owner, its deadline or a failure says so.
        case cancel
        /// A link needs time for the next message.
        case waits
        /// The link has decided: the message passes to the next link.
        case wakes
        /// The next message cannot be sent.
        case fails
        /// The next message was made, and has its transfer.
        case sends
        /// The head came, and a link or the owner is asked about it.
        case asks
        /// The head came, and no one has to be asked.
        case delivers
        /// The one who was asked lets the response pass.
        case passes
        /// Another message is to be sent instead of this response; `isRecorded` when the response is to be stored all
        /// the same.
        case leaves(isRecorded: Bool)
        /// The transfer has ended; `isRecorded` when a whole response is to be stored.
        case finishes(hasFailed: Bool, isRecorded: Bool)
        /// The transfer has ended without an answer, and its message can be sent once more.
        case fallsBack
        /// What was to be stored is stored.
        case saved
    }

    /// What to do about an event, in the order below.
    struct Effects: OptionSet, Hashable, Sendable {
        let rawValue: UInt16

        /// Make the next message, and send it.
        static let launch = Effects(rawValue: 1 << 0)
        /// Tell the link that is asked that its decision is not needed any more.
        static let stopWaiting = Effects(rawValue: 1 << 1)
        /// Start the transfer.
        static let startTransfer = Effects(rawValue: 1 << 2)
        /// Tell the transfer what may move.
        static let setFlow = Effects(rawValue: 1 << 3)
        /// Discard the rest of the response.
        static let discard = Effects(rawValue: 1 << 4)
        static let cancelTransfer = Effects(rawValue: 1 << 5)
        /// Go on with the message that follows.
        static let goOn = Effects(rawValue: 1 << 6)
        /// Store the response.
        static let save = Effects(rawValue: 1 << 7)
        /// Tell the owner of the end.
        static let end = Effects(rawValue: 1 << 8)
    }

    private(set) var stage = Stage.ready
    private(set) var holds = TransferHolds()
    /// True once the attempt is to end: whatever is decided after that makes no difference.
    private(set) var isCancelled = false
    /// Whether a response that waits for a decision is to be stored.
    private var isRecorded = false

    /// True from its beginning to its end.
    var isRunning: Bool { stage != .ready && stage != .ended }

    /// True while there is a transfer that may be told what may move.
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
        case .fallsBack: return stage == .sent ? goOn() : finish(true, false)
        case .saved:
            guard case .saving(let goesOn) = stage else { return [] }
            return goesOn ? goOn() : end()
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
            isCancelled = true  // whoever makes the message sees it
            return []
        case .cancelling, .ended: return []
        }
    }

    private mutating func pass() -> Effects {
        guard case .deciding(let wire) = stage else { return [] }
        let effects = change { $0.remove(.deciding) }
        switch wire {
        case .open: return effects.union(become(.delivering))
        case .over(hasFailed: false) where isRecorded: return become(.saving(thenGoesOn: false), .save)
        case .over: return end()
        }
    }

    private mutating func leave(_ isRecorded: Bool) -> Effects {
        switch stage {
        case .deciding(.over): return saveAndGoOn()
        case .sent, .deciding(.open):
            // What is to be stored has to come.
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
        case .delivering where isRecorded && !hasFailed: return become(.saving(thenGoesOn: false), .save)
        case .leaving:
            self.isRecorded = isRecorded && !hasFailed
            return isCancelled ? end() : saveAndGoOn()
        case .sent, .delivering, .cancelling: return end()
        case .ready, .preparing, .waiting, .deciding(.over), .saving, .ended: return []
        }
    }

    // MARK: Changes

    private mutating func saveAndGoOn() -> Effects {
        isRecorded ? become(.saving(thenGoesOn: true), .save) : goOn()
    }

    /// Continues with another message; what held the last response back does not hold back the next one.
    private mutating func goOn() -> Effects {
        holds.remove([.deciding, .full])
        isRecorded = false
        return become(.preparing, .goOn)
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
