// Async sequences of a request's events.

import Synchronization

/// An async sequence of the events of a request; each iterator gets all events since it was made.
///
/// The sequence subscribes to events when an iterator is made, not before. An iterator that is released before the end,
/// or whose task is cancelled, ends its own sequence; for a stream's content it also cancels the request, unless that
/// was turned off.
public struct StreamOf<Element: Sendable>: AsyncSequence, Sendable {
    /// The iterator.
    public typealias AsyncIterator = Iterator
    /// Which elements are kept when they come faster than they are read.
    public typealias BufferingPolicy = AsyncStream<Element>.Continuation.BufferingPolicy

    private let open: @Sendable () -> StreamSource<Element>

    init(open: @escaping @Sendable () -> StreamSource<Element>) {
        self.open = open
    }

    /// Makes an iterator; elements are buffered for it from now on.
    public func makeAsyncIterator() -> Iterator {
        Iterator(open())
    }

    /// Returns the elements one by one, to one task at a time.
    public struct Iterator: AsyncIteratorProtocol {
        private let produce: @Sendable () async -> Element?
        private let token: TerminationToken

        init(_ source: StreamSource<Element>) {
            produce = source.next
            token = TerminationToken(source.onTermination)
        }

        /// The next element; `nil` at the end, and when the task was cancelled.
        public mutating func next() async -> Element? {
            await withTaskCancellationHandler { [produce] in
                await produce()
            } onCancel: { [token] in
                token.terminate()
            }
        }
    }
}

/// The source of one iterator's elements.
struct StreamSource<Element: Sendable>: Sendable {
    let next: @Sendable () async -> Element?
    /// Called once, when the iterator is released or its task is cancelled.
    let onTermination: @Sendable () -> Void
}

/// Calls `onTermination` once, at the latest when the iterator that holds this token is released.
final class TerminationToken: Sendable {
    private let onTermination: Mutex<(@Sendable () -> Void)?>

    init(_ onTermination: @escaping @Sendable () -> Void) {
        self.onTermination = Mutex(onTermination)
    }

    deinit { terminate() }

    func terminate() {
        let action = onTermination.withLock { action in
            defer { action = nil }
            return action
        }
        action?()
    }
}
