// A thread that moves bytes: it waits in epoll, and handles the mailbox and the sockets.

import CLinux
import Glibc
import Synchronization

/// A thread with an epoll set, for transfers and for Swift tasks that want to run beside them.
///
/// Loops are made once and live as long as the process: nothing has to be torn down at exit. Everything given to a loop
/// is run in the order in which it was given. All signals are blocked on the thread, so that a peer that closes while
/// we send gives an error rather than SIGPIPE, without touching the process's own signal settings.
package final class EventLoop: TaskExecutor, Sendable {
    private let mailbox = Mailbox()
    private let poller: Poller
    private let thread = Atomic<UInt>(0)
    /// The process of the loop's thread.
    private let forkCount: Int

    /// Starts a loop; `name` (up to 15 bytes) is what thread lists show.
    ///
    /// `nil` when the process has no descriptor or no thread left for it.
    package init?(name: String) {
        guard let poller = Poller() else { return nil }
        self.poller = poller
        ForkCount.watch()
        // `tzset` reads the time zone's file here, since the first check of a certificate's dates would otherwise read
        // it on the loop.
        tzset()
        forkCount = ForkCount.current
        let start = Unmanaged.passRetained(ThreadStart(loop: self, name: name))
        var handle = pthread_t()
        guard pthread_create(&handle, nil, runLoop, start.toOpaque()) == 0 else {
            start.release()
            poller.close()
            return nil
        }
        pthread_detach(handle)
    }

    /// True on the loop's own thread.
    package var isCurrent: Bool {
        thread.load(ordering: .relaxed) == UInt(pthread_self())
    }

    /// True in a process that was forked from the loop's: the loop's thread does not exist there.
    var isFromParentProcess: Bool { forkCount != ForkCount.current }

    /// Runs `work` on the loop's thread, soon.
    ///
    /// Callable from any thread, the loop's own included.
    func post(_ work: @escaping @Sendable (LoopContext) -> Void) {
        send(.work(work))
    }

    /// Performs an action on the loop's thread, soon.
    ///
    /// Callable from any thread.
    func post(_ action: any LoopAction) {
        send(.action(action))
    }

    /// Runs a piece of a Swift task on the loop's thread.
    package func enqueue(_ job: consuming ExecutorJob) {
        send(.job(UnownedJob(job)))
    }

    private func send(_ item: LoopItem) {
        if mailbox.push(item) { poller.wake() }
    }

    fileprivate func run() {
        thread.store(UInt(pthread_self()), ordering: .relaxed)
        LoopThread.mark()
        let context = LoopContext(loop: self, poller: poller)
        let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: 256)
        var backlog = ElementQueue<LoopItem>()
        var batch: [LoopItem] = []
        var readyCount = 0
        var late = ElementQueue<LateEvent>()
        var turnsWithoutLooking = 0
        var hasPolled = false
        while true {
            context.beginEvents(hasPolled: hasPolled)
            // The mailbox comes before the sockets, so that a call such as a suspension applies to bytes that arrived
            // after it.
            mailbox.swap(into: &batch)
            perform(&batch, after: &backlog, in: context)
            deliver(events.prefix(readyCount), after: &late, in: context)
            // Idle connections rely on `areAll`, which is true only if every event of the poll has been delivered.
            context.eventsAreDelivered(areAll: readyCount < events.count && late.isEmpty)
            readyCount = 0
            context.runContinuations()
            context.runDearWork()
            context.deadlines.callDue(in: context)
            context.endTurn()
            let timeout = late.isEmpty && backlog.isEmpty ? context.sleepMilliseconds() : 0
            let maySleep = timeout != 0 && mailbox.receiverMaySleep()
            if timeout != 0, !maySleep, !context.turn.isOver, turnsWithoutLooking < Self.turnLimit {
                turnsWithoutLooking += 1
                hasPolled = false
                continue
            }
            turnsWithoutLooking = 0
            readyCount = poller.wait(into: events, milliseconds: maySleep ? timeout : 0)
            hasPolled = true
            if timeout != 0 { mailbox.receiverIsAwake() }
            context.beginBudget()
        }
    }

    /// The most turns without a poll, which costs a system call, while the mailbox has work.
    private static let turnLimit = 4

    /// Performs posted work in its order, that of earlier turns first; keeps what the turn has no time for.
    private func perform(
        _ batch: inout [LoopItem], after backlog: inout ElementQueue<LoopItem>, in context: LoopContext
    ) {
        var count = 0
        while context.turn.allows(count), let item = backlog.popFirst() {
            perform(item, in: context)
            count += 1
        }
        for item in batch {
            if backlog.isEmpty, context.turn.allows(count) {
                perform(item, in: context)
                count += 1
            } else {
                backlog.append(item)
            }
        }
        batch.removeAll(keepingCapacity: true)
    }

    private func perform(_ item: LoopItem, in context: LoopContext) {
        context.turn.noteCost(Self.itemCost)
        switch item {
        case .work(let work): context.watched(self) { work(context) }
        case .action(let action): context.watched(action) { action.perform(in: context) }
        case .job(let job):
            #if DEBUG
            let run = { LoopThread.runJob { job.runSynchronously(on: self.asUnownedTaskExecutor()) } }
            if let watch = context.watch { watch.measure("", isExempt: true, run) } else { run() }
            #else
            job.runSynchronously(on: asUnownedTaskExecutor())
            #endif
        }
    }

    /// The cost of a small piece of work from the mailbox; the work that it causes adds its own cost.
    private static let itemCost = TurnBudget.callCost / 4

    /// Delivers events to their sockets, events of earlier turns first; keeps the events that the turn has no time for.
    private func deliver(
        _ events: Slice<UnsafeMutableBufferPointer<epoll_event>>, after late: inout ElementQueue<LateEvent>,
        in context: LoopContext
    ) {
        // At least one late event is delivered, so that each turn makes progress.
        while let event = late.popFirst() {
            deliver(event, in: context)
            if context.turn.isOver { break }
        }
        for var event in events {
            let tag = fw_epoll_tag(&event)
            guard tag != Poller.wakeTag else {
                poller.acknowledgeWake()
                continue
            }
            let next = LateEvent(tag: tag, readiness: SocketReadiness(rawValue: event.events))
            if late.isEmpty, !context.turn.isOver { deliver(next, in: context) } else { late.append(next) }
        }
    }

    private func deliver(_ event: LateEvent, in context: LoopContext) {
        guard let (descriptor, watcher) = context.sockets.receiver(of: event.readiness, tag: event.tag) else { return }
        context.watched(watcher) { watcher.socket(descriptor, isReady: event.readiness) }
        context.turn.noteCost(TurnBudget.callCost)
    }
}

/// An event of a socket that waits for a later turn; it is dropped if the registration ends before.
private struct LateEvent {
    let tag: UInt64
    let readiness: SocketReadiness
}

/// The argument of a new thread, which takes over the passed reference.
private final class ThreadStart: Sendable {
    let loop: EventLoop
    let name: String

    init(loop: EventLoop, name: String) {
        self.loop = loop
        self.name = name
    }
}

private func runLoop(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let start = Unmanaged<ThreadStart>.fromOpaque(argument).takeRetainedValue()
    pthread_setname_np(pthread_self(), start.name)
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, nil)
    start.loop.run()
    return nil
}
