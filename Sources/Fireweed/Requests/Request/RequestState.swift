// The life of a request, as a table.

/// The state of a request: what the caller asked for last (`intent`), and the work that is under way (`work`).
///
/// Pure: `handle(_:)` takes an event and returns effects, which the request performs outside its lock. The five states
/// of the public API are `visible`.
struct RequestState: Equatable, Sendable {
    /// The state that the caller asked for last.
    enum Intent: CaseIterable, Sendable {
        case initialized, resumed, suspended, cancelled
    }

    /// The work that is under way.
    enum Work: Hashable, Sendable {
        /// Nothing yet.
        case idle
        /// The `URLRequest` is being made and adapted.
        case making
        /// There is a task.
        case transferring
        /// The task has ended: validators run, and the retriers decide.
        case validating
        /// The outcome is final: serialisers run, one after the other.
        case serialising
        /// A retry was granted and its delay is running.
        case awaitingRetry
        /// Every handler has been called.
        case done
    }

    enum Event: CaseIterable, Sendable {
        case resume, suspend, cancel
        /// ``Session`` was asked to make the `URLRequest` before any resume.
        case makeEagerly
        case made, makingFailed
        /// The task has ended, with or without a failure.
        case completed
        /// The retriers have decided against a retry, or none had to be asked.
        case outcomeDecided
        case retryGranted, retryDue
        /// Every serialiser has run.
        case serialised
        case handlerAdded
        /// The deadline came, or the session was drained, invalidated or released.
        case abort
    }

    /// The effects of an event, performed in the order below.
    struct Effects: OptionSet, Sendable {
        let rawValue: UInt16

        static let announceResume = Effects(rawValue: 1 << 0)
        static let announceSuspend = Effects(rawValue: 1 << 1)
        static let announceCancel = Effects(rawValue: 1 << 2)
        /// Make the `URLRequest`, adapt it, and make a task.
        static let make = Effects(rawValue: 1 << 3)
        static let resumeTask = Effects(rawValue: 1 << 4)
        static let suspendTask = Effects(rawValue: 1 << 5)
        static let cancelTask = Effects(rawValue: 1 << 6)
        /// Run the validators and ask the retriers.
        static let validate = Effects(rawValue: 1 << 7)
        /// Notify the monitors that the request finished, then run the serialisers.
        static let finish = Effects(rawValue: 1 << 8)
        /// Run the serialisers of handlers that came late.
        static let serialise = Effects(rawValue: 1 << 9)
        /// Start the delay of the retry.
        static let delayRetry = Effects(rawValue: 1 << 10)
    }

    private(set) var intent = Intent.initialized
    private(set) var work = Work.idle

    /// The state as the public API names it; `cancelled` is final, `finished` lasts until a handler is added.
    var visible: Request.State {
        switch (intent, work) {
        case (.cancelled, _): .cancelled
        case (_, .done): .finished
        case (.initialized, _): .initialized
        case (.resumed, _): .resumed
        case (.suspended, _): .suspended
        }
    }

    /// True while an error may still change the outcome.
    var isOutcomeOpen: Bool {
        switch work {
        case .idle, .making, .transferring, .validating, .awaitingRetry: true
        case .serialising, .done: false
        }
    }

    /// True while the request message is being made.
    var isMaking: Bool { work == .making }

    mutating func handle(_ event: Event) -> Effects {
        switch event {
        case .resume: resume()
        case .suspend: suspend()
        case .cancel: cancel()
        case .abort: abort()
        case .makeEagerly: advance(from: .idle, to: .making, .make)
        case .made: made()
        case .makingFailed: makingFailed()
        case .completed: advance(from: .transferring, to: .validating, .validate)
        case .outcomeDecided: advance(from: .validating, to: .serialising, .finish)
        case .retryGranted: retryGranted()
        case .retryDue: advance(from: .awaitingRetry, to: .making, .make)
        case .serialised: advance(from: .serialising, to: .done, [])
        case .handlerAdded: handlerAdded()
        }
    }

    private mutating func resume() -> Effects {
        switch (intent, work) {
        case (.cancelled, _), (.resumed, _), (_, .done): return []
        case (.initialized, .idle), (.suspended, .idle):
            become(.resumed, .making)
            return [.announceResume, .make]
        case (.initialized, .making), (.suspended, .making):
            become(.resumed, .making)
            return .announceResume
        case (.initialized, .transferring), (.suspended, .transferring):
            become(.resumed, .transferring)
            return [.announceResume, .resumeTask]
        case (.initialized, .validating), (.suspended, .validating), (.initialized, .serialising),
            (.suspended, .serialising), (.initialized, .awaitingRetry), (.suspended, .awaitingRetry):
            become(.resumed, work)
            return .announceResume
        }
    }

    private mutating func suspend() -> Effects {
        switch (intent, work) {
        case (.cancelled, _), (.suspended, _), (_, .done): return []
        case (.initialized, .transferring), (.resumed, .transferring):
            become(.suspended, .transferring)
            return [.announceSuspend, .suspendTask]
        case (.initialized, .idle), (.resumed, .idle), (.initialized, .making), (.resumed, .making),
            (.initialized, .validating), (.resumed, .validating), (.initialized, .serialising),
            (.resumed, .serialising),
            (.initialized, .awaitingRetry), (.resumed, .awaitingRetry):
            become(.suspended, work)
            return .announceSuspend
        }
    }

    private mutating func cancel() -> Effects {
        switch (intent, work) {
        case (.cancelled, _), (_, .done): return []
        case (_, .idle), (_, .making), (_, .awaitingRetry):
            become(.cancelled, .validating)  // there is no task to wait for
            return [.announceCancel, .validate]
        case (_, .transferring):
            become(.cancelled, .transferring)
            return [.announceCancel, .cancelTask]
        case (_, .validating), (_, .serialising):
            become(.cancelled, work)
            return .announceCancel
        }
    }

    private mutating func abort() -> Effects {
        switch work {
        case .idle, .making, .awaitingRetry:
            become(intent, .validating)
            return .validate
        case .transferring: return .cancelTask
        case .validating, .serialising, .done: return []
        }
    }

    private mutating func made() -> Effects {
        guard work == .making else { return [] }
        become(intent, .transferring)
        switch intent {
        case .resumed: return .resumeTask
        case .suspended: return .suspendTask
        case .initialized, .cancelled: return []
        }
    }

    private mutating func makingFailed() -> Effects {
        guard work == .making else { return [] }
        become(intent, .validating)
        return .validate
    }

    private mutating func retryGranted() -> Effects {
        switch (intent, work) {
        case (.cancelled, _): return []
        case (_, .validating), (_, .serialising):
            become(intent, .awaitingRetry)
            return .delayRetry
        case (_, .idle), (_, .making), (_, .transferring), (_, .awaitingRetry), (_, .done): return []
        }
    }

    /// A late handler makes a finished request resumed again, until that handler has been called.
    private mutating func handlerAdded() -> Effects {
        guard work == .done else { return [] }
        become(intent == .cancelled ? .cancelled : .resumed, .serialising)
        return .serialise
    }

    /// A transition from one kind of work to the next; in every other work the event is ignored.
    private mutating func advance(from: Work, to: Work, _ effect: Effects) -> Effects {
        guard work == from else { return [] }
        become(intent, to)
        return effect
    }

    private mutating func become(_ intent: Intent, _ work: Work) {
        self.intent = intent
        self.work = work
    }
}
