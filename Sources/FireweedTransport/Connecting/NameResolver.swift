// Look-ups of names on a bounded number of threads.

import CLinux
import Glibc
import Synchronization

/// Looks up the addresses of hosts with getaddrinfo(3), which blocks, on threads of its own.
///
/// The families are looked up apart, so that one answer does not wait for the other (RFC 8305 §3). Everybody who asks
/// the same shares one look-up. Answers are kept for 30 s, since getaddrinfo tells no time to live, and failures for 1
/// s.
final class NameResolver: Sendable {
    /// What a look-up gave.
    enum Answer: Sendable, Equatable {
        /// In the order in which they are to be tried (RFC 6724), without ports; never empty.
        case addresses([SocketAddress])
        case failed(LookupFailure)
    }

    typealias Handler = @Sendable (Answer) -> Void

    /// A handler that waits for an answer.
    struct Ticket: Sendable {
        fileprivate let question: NameQuestion
        fileprivate let number: Int
    }

    /// What asking gives at once.
    enum Outcome: Sendable {
        case known(Answer)
        case pending(Ticket)
    }

    private struct State {
        var line: LookupLine
        var handlers: [NameQuestion: [Int: Handler]] = [:]
        var answers: [NameQuestion: (answer: Answer, expiry: LoopInstant)] = [:]
        var threadCount = 0
        var ticketCount = 0
    }

    /// The process's resolver.
    static let shared = NameResolver()

    private static let answerLifetime: LoopInstant = 30_000_000_000
    private static let failureLifetime: LoopInstant = 1_000_000_000
    private static let answerLimit = 1024

    private let threadLimit: Int
    private let lookUpInSystem: @Sendable (NameQuestion) -> Answer
    private let now: @Sendable () -> LoopInstant
    private let state: Mutex<State>

    /// Makes a resolver with so many threads at most, what each look-up does on one of them, and a clock.
    init(
        threadLimit: Int = 16, now: @escaping @Sendable () -> LoopInstant = LoopContext.monotonicNow,
        lookUp: @escaping @Sendable (NameQuestion) -> Answer = SystemLookup.answer
    ) {
        self.threadLimit = threadLimit
        self.now = now
        lookUpInSystem = lookUp
        state = Mutex(State(line: LookupLine(threadLimit: threadLimit)))
    }

    /// Looks up a host, unless the answer is known.
    ///
    /// `handler` is called once, on a thread of the resolver, if the outcome is pending and is not cancelled.
    func lookUp(_ question: NameQuestion, then handler: @escaping Handler) -> Outcome {
        let now = now()
        let (outcome, needsThread) = state.withLock { state -> (Outcome, Bool) in
            if let known = state.answers[question], known.expiry > now { return (.known(known.answer), false) }
            state.ticketCount += 1
            let number = state.ticketCount
            let isNew = state.handlers[question] == nil
            state.handlers[question, default: [:]][number] = handler
            if isNew { state.line.enter(question) }
            let needsThread = isNew && state.threadCount < threadLimit
            if needsThread { state.threadCount += 1 }
            return (.pending(Ticket(question: question, number: number)), needsThread)
        }
        if needsThread { startThread() }
        return outcome
    }

    /// Removes a handler that waits; a question without handlers leaves the line.
    func cancel(_ ticket: Ticket) {
        state.withLock { state in
            guard state.handlers[ticket.question]?.removeValue(forKey: ticket.number) != nil,
                state.handlers[ticket.question]?.isEmpty == true, state.line.leave(ticket.question)
            else { return }
            state.handlers[ticket.question] = nil
        }
    }

    /// Forgets what is known of a host, whose addresses have all failed.
    func forget(_ host: String) {
        state.withLock { state in
            for family in AddressFamily.allCases { state.answers[NameQuestion(host: host, family: family)] = nil }
        }
    }

    // MARK: Threads

    private func startThread() {
        var thread = pthread_t()
        let status = pthread_create(&thread, nil, runResolver, Unmanaged.passRetained(self).toOpaque())
        guard status == 0 else {
            Unmanaged.passUnretained(self).release()
            return threadFailed(status)
        }
        pthread_detach(thread)
    }

    /// Without any thread no name would be looked up.
    private func threadFailed(_ status: Int32) {
        let handlers = state.withLock { state -> [Handler] in
            state.threadCount -= 1
            guard state.threadCount == 0 else { return [] }
            return state.line.removeAll().flatMap { state.handlers.removeValue(forKey: $0)?.values.map { $0 } ?? [] }
        }
        let text = "no thread can be started: \(String(cString: strerror(status)))"
        for handler in handlers { handler(.failed(LookupFailure(isExhaustion: true, text: text))) }
    }

    fileprivate func run() {
        while let question = next() {
            let answer = lookUpInSystem(question)
            let now = now()
            let handlers = state.withLock { state in
                state.line.didEnd(question, at: now)
                Self.keep(answer, of: question, at: now, in: &state)
                return state.handlers.removeValue(forKey: question) ?? [:]
            }
            for handler in handlers.values { handler(answer) }
        }
    }

    private func next() -> NameQuestion? {
        let now = now()
        return state.withLock { state in
            if let question = state.line.next(at: now) { return question }
            state.threadCount -= 1
            return nil
        }
    }

    private static func keep(_ answer: Answer, of question: NameQuestion, at now: LoopInstant, in state: inout State) {
        if state.answers.count >= answerLimit { state.answers = state.answers.filter { $0.value.expiry > now } }
        if state.answers.count >= answerLimit { state.answers.removeAll() }
        let lifetime = if case .addresses = answer { answerLifetime } else { failureLifetime }
        state.answers[question] = (answer, now + lifetime)
    }
}

private func runResolver(_ owner: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let owner else { return nil }
    pthread_setname_np(pthread_self(), "fireweed-names")
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, nil)
    Unmanaged<NameResolver>.fromOpaque(owner).takeRetainedValue().run()
    return nil
}
