// The progress of a request, as a `Progress` that is made on demand.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// Counts the bytes of a request in both directions, and calls the progress handlers.
///
/// Nothing is allocated until a handler is set or a `Progress` is read.
struct ProgressTracker: ~Copyable, Sendable {
    /// The counts, the `Progress` and the handlers of one direction.
    struct Direction: Sendable {
        var completed: Int64 = 0
        var total: Int64?
        var progress: Progress?
        var handler: (handler: Request.ProgressHandler, queue: DispatchQueue)?
        var listeners: [StreamBuffer<Progress>] = []

        var isWatched: Bool { progress != nil || handler != nil || !listeners.isEmpty }

        /// Returns the public `Progress`, updated to the counts.
        ///
        /// An unknown length is -1 once content moves, as with URLSession: with a total of 0 the `Progress` would be
        /// finished at its first byte.
        mutating func shown() -> Progress {
            let shown = progress ?? Progress(totalUnitCount: 0)
            progress = shown
            shown.totalUnitCount = total ?? (completed > 0 ? NSURLSessionTransferSizeUnknown : 0)
            shown.completedUnitCount = completed
            return shown
        }

        mutating func reset() {
            completed = 0
            total = nil
        }
    }

    struct State: Sendable {
        var upload = Direction()
        var download = Direction()
    }

    /// The state of both directions, allocated when a handler is set or a `Progress` is first read.
    final class Box: @unchecked Sendable {
        // SAFETY: touched only under the lock of `box`.
        var value = State()
    }

    let box = Mutex<Box?>(nil)
    /// Whether a handler was set or a `Progress` read; this flag is read for every piece of content, without the lock.
    let isUsed = Atomic<Bool>(false)

    func read<Value>(_ direction: WritableKeyPath<State, Direction>, _ body: (inout Direction) -> Value) -> Value {
        box.withLock { box in
            let made = box ?? Box()
            box = made
            isUsed.store(true, ordering: .releasing)
            return body(&made.value[keyPath: direction])
        }
    }

    func uploaded(_ total: Int64, of expected: Int64?) {
        update(\.upload, completed: total, total: expected)
    }

    func downloaded(_ attempt: Attempt) {
        guard isUsed.load(ordering: .acquiring) else { return }
        let counts = attempt.downloadCounts
        update(\.download, completed: counts.completed, total: counts.total)
    }

    /// The `Progress` of a direction, updated from the attempt's own counts, which are always kept.
    func shown(_ direction: WritableKeyPath<State, Direction>, _ counts: (completed: Int64, total: Int64?)?) -> Progress
    {
        read(direction) { direction in
            if let counts {
                direction.completed = counts.completed
                direction.total = counts.total ?? direction.total
            }
            return direction.shown()
        }
    }

    /// Whether a progress handler is called on this queue.
    func hasHandler(on queue: DispatchQueue) -> Bool {
        guard isUsed.load(ordering: .acquiring) else { return false }
        return box.withLock { box in
            box?.value.upload.handler?.queue === queue || box?.value.download.handler?.queue === queue
        }
    }

    func reset() {
        box.withLock { box in
            box?.value.upload.reset()
            box?.value.download.reset()
        }
    }

    private func update(_ direction: WritableKeyPath<State, Direction>, completed: Int64, total: Int64?) {
        let notice = box.withLock { box -> (Direction, Progress)? in
            guard let box else { return nil }
            box.value[keyPath: direction].completed = completed
            box.value[keyPath: direction].total = total
            guard box.value[keyPath: direction].isWatched else { return nil }
            let shown = box.value[keyPath: direction].shown()
            return (box.value[keyPath: direction], shown)
        }
        guard let (direction, progress) = notice else { return }
        for listener in direction.listeners { listener.push(progress) }
        guard let (handler, queue) = direction.handler else { return }
        queue.async { handler(progress) }
    }
}
