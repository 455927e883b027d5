// Work from other threads for a loop: a list that the loop swaps out whole.

import Synchronization

/// A piece of work for a loop.
enum LoopItem: Sendable {
    /// A closure that needs the loop's own state.
    case work(@Sendable (LoopContext) -> Void)
    /// An object that does the work; it needs no closure, which saves an allocation for each request.
    case action(any LoopAction)
    /// A piece of a Swift task that prefers this loop as its executor.
    case job(UnownedJob)
}

/// Work for a loop's thread.
protocol LoopAction: AnyObject, Sendable {
    func perform(in context: LoopContext)
}

/// The inbox of one loop: many senders, one receiver.
///
/// A sender has to wake the loop only when the loop went to sleep on an empty mailbox, so that a burst costs one
/// wake-up.
final class Mailbox: Sendable {
    private struct State {
        var items: [LoopItem] = []
        var isReceiverAsleep = false
    }

    private let state = Mutex(State())

    /// Adds an item, and returns whether the caller has to wake the receiver.
    func push(_ item: LoopItem) -> Bool {
        state.withLock { state in
            state.items.append(item)
            let mustWake = state.isReceiverAsleep
            state.isReceiverAsleep = false
            return mustWake
        }
    }

    /// Swaps the waiting items into `batch`, which must be empty; its storage is used for the next items.
    func swap(into batch: inout [LoopItem]) {
        state.withLock { Swift.swap(&$0.items, &batch) }
    }

    /// Declares that the receiver is about to sleep; false when items wait, in which case the receiver must not sleep.
    func receiverMaySleep() -> Bool {
        state.withLock { state in
            state.isReceiverAsleep = state.items.isEmpty
            return state.isReceiverAsleep
        }
    }

    /// Withdraws the declaration: the receiver is awake, and need not be woken.
    func receiverIsAwake() {
        state.withLock { $0.isReceiverAsleep = false }
    }
}
