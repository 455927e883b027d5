// Look-ups of names on a bounded number of threads.

import CLinux
import Glibc
import Synchronization

/// Looks up the addresses of hosts with getaddrinfo(3), on separate threads since the function blocks.
///
/// One look-up finds the addresses of both families, and concurrent requests for a name share it. Addresses are kept
/// for 30 s, since getaddrinfo gives no time to live, and failures for 1 s. A name with a final dot is complete, and is
/// a different name from the one without the dot, for which search domains apply (RFC 1034 §3.1).
final class NameResolver: Sendable {
    /// The result of a look-up.
    enum Answer: Sendable, Equatable {
        /// The addresses of both families, in the order of preference (RFC 6724), without ports; never empty.
        case addresses([SocketAddress])
        case failed(LookupFailure)
    }

    typealias Handler = @Sendable (Answer) -> Void

    /// Identifies a handler that waits for an answer.
    struct LookupID: Sendable {
        fileprivate let name: String
        fileprivate let number: Int
    }

    /// The immediate result of a request for a name.
    enum LookupResult: Sendable {
        case known(Answer)
        case pending(LookupID)
    }

    private struct State {
        var line: LookupQueue
        var handlers: [String: [Int: Handler]] = [:]
        var answers: [String: (answer: Answer, expiry: LoopInstant)] = [:]
        /// The number of threads that run or will run look-ups; a thread that waits for room is not counted.
        var threadCount = 0
        /// Whether a thread waits until a look-up becomes slow and makes room.
        var isAwaitingRoom = false
        var ticketCount = 0

        /// The number of threads that are about to take a name from the queue.
        var freeThreadCount: Int { threadCount - line.runningCount }
    }

    /// The next action of a thread.
    private enum Turn {
        case lookUp(String)
        case awaitRoom(until: LoopInstant)
        case end
    }

    /// The process's resolver.
    static let shared = NameResolver()

    private static let answerLifetime: LoopInstant = 30_000_000_000
    private static let failureLifetime: LoopInstant = 1_000_000_000
    private static let answerLimit = 1024
    /// Less than the default 8 MiB, since there may be 256 threads: getaddrinfo(3) and the modules of nsswitch.conf(5)
    /// need far less.
    private static let stackByteCount = 1024 * 1024

    private let threadLimit: Int
    private let lookUpInSystem: @Sendable (String) -> Answer
    private let now: @Sendable () -> LoopInstant
    private let state: Mutex<State>

    /// Makes a resolver with a limit of threads, a clock, and the look-up that runs on the threads.
    init(
        threadLimit: Int = 256, now: @escaping @Sendable () -> LoopInstant = LoopContext.monotonicNow,
        lookUp: @escaping @Sendable (_ name: String) -> Answer = SystemLookup.answer
    ) {
        self.threadLimit = threadLimit
        self.now = now
        lookUpInSystem = lookUp
        state = Mutex(State(line: LookupQueue(threadLimit: threadLimit)))
    }

    /// Looks up a name, unless the answer is known.
    ///
    /// If the result is `pending` and is not cancelled, `handler` is called once: on a thread of the resolver, or
    /// inside this call if no thread can be started.
    func lookUp(_ name: String, then handler: @escaping Handler) -> LookupResult {
        let now = now()
        let (outcome, needsThread) = state.withLock { state -> (LookupResult, Bool) in
            if let known = state.answers[name], known.expiry > now { return (.known(known.answer), false) }
            state.ticketCount += 1
            let number = state.ticketCount
            let isNew = state.handlers[name] == nil
            state.handlers[name, default: [:]][number] = handler
            if isNew { state.line.enter(name) }
            let needsThread = isNew && wantsThread(for: state, at: now)
            if needsThread { state.threadCount += 1 }
            return (.pending(LookupID(name: name, number: number)), needsThread)
        }
        if needsThread { startThread() }
        return outcome
    }

    /// Removes a waiting handler; a name without handlers leaves the queue.
    func cancel(_ ticket: LookupID) {
        state.withLock { state in
            guard state.handlers[ticket.name]?.removeValue(forKey: ticket.number) != nil,
                state.handlers[ticket.name]?.isEmpty == true, state.line.leave(ticket.name)
            else { return }
            state.handlers[ticket.name] = nil
        }
    }

    /// Forgets the addresses of a name, since connecting to each of them has failed.
    func forget(_ name: String) {
        state.withLock { $0.answers[name] = nil }
    }

    // MARK: Threads

    private func wantsThread(for state: borrowing State, at now: LoopInstant) -> Bool {
        guard state.threadCount < threadLimit else { return false }
        if state.line.startableCount(at: now) > state.freeThreadCount { return true }
        // A free thread that finds no name to look up waits until a running look-up becomes slow and makes room. A
        // thread is started for this wait only if no thread is free.
        return state.freeThreadCount == 0 && !state.isAwaitingRoom && state.line.nextRoom(at: now) != nil
    }

    private func startThread() {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setstacksize(&attributes, Self.stackByteCount)
        var thread = pthread_t()
        let status = pthread_create(&thread, &attributes, runResolver, Unmanaged.passRetained(self).toOpaque())
        pthread_attr_destroy(&attributes)
        guard status == 0 else {
            Unmanaged.passUnretained(self).release()
            return threadFailed(status)
        }
        pthread_detach(thread)
    }

    /// Fails all waiting names if no thread runs that could look them up.
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
        while true {
            switch nextTurn() {
            case .lookUp(let name): lookUp(name)
            case .awaitRoom(let instant):
                let (seconds, rest) = (instant - min(instant, now())).quotientAndRemainder(dividingBy: 1_000_000_000)
                // Nothing ends this wait early: a name that may be looked up sooner gets another thread.
                var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(rest))
                nanosleep(&time, nil)
                state.withLock { state in
                    state.isAwaitingRoom = false
                    state.threadCount += 1
                }
            case .end: return
            }
        }
    }

    private func lookUp(_ name: String) {
        let answer = lookUpInSystem(name)
        let now = now()
        let handlers = state.withLock { state in
            state.line.didEnd(name, at: now)
            Self.keep(answer, of: name, at: now, in: &state)
            return state.handlers.removeValue(forKey: name) ?? [:]
        }
        for handler in handlers.values { handler(answer) }
    }

    private func nextTurn() -> Turn {
        let now = now()
        let (turn, needsThread) = state.withLock { state -> (Turn, Bool) in
            if let name = state.line.next(at: now) {
                // Look-ups that became slow may have made room for several names, and other names may wait for more
                // room.
                let needsThread = wantsThread(for: state, at: now)
                if needsThread { state.threadCount += 1 }
                return (.lookUp(name), needsThread)
            }
            state.threadCount -= 1
            guard !state.isAwaitingRoom, let instant = state.line.nextRoom(at: now) else { return (.end, false) }
            state.isAwaitingRoom = true
            return (.awaitRoom(until: instant), false)
        }
        if needsThread { startThread() }
        return turn
    }

    private static func keep(_ answer: Answer, of name: String, at now: LoopInstant, in state: inout State) {
        if state.answers.count >= answerLimit { state.answers = state.answers.filter { $0.value.expiry > now } }
        if state.answers.count >= answerLimit { state.answers.removeAll() }
        let lifetime = if case .addresses = answer { answerLifetime } else { failureLifetime }
        state.answers[name] = (answer, now + lifetime)
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
