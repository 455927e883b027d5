// Async sequences of what happens to a request.

import Synchronization

/// An async sequence with one reader; when its iterator goes before the end, `onTermination` is called.
public struct StreamOf<Element: Sendable>: AsyncSequence, Sendable {
    /// The iterator.
    public typealias AsyncIterator = Iterator
    /// What is kept when elements come faster than they are read.
    public typealias BufferingPolicy = AsyncStream<Element>.Continuation.BufferingPolicy

    private let produce: @Sendable () async -> Element?
    private let onTermination: @Sendable () -> Void

    init(produce: @escaping @Sendable () async -> Element?, onTermination: @escaping @Sendable () -> Void = {}) {
        self.produce = produce
        self.onTermination = onTermination
    }

    /// Makes the iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(produce: produce, token: Token(onTermination))
    }

    /// Gives the elements one by one.
    public struct Iterator: AsyncIteratorProtocol {
        private let produce: @Sendable () async -> Element?
        private let token: Token

        init(produce: @escaping @Sendable () async -> Element?, token: Token) {
            self.produce = produce
            self.token = token
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

    /// Calls back once, at the latest when the iterator goes.
    final class Token: Sendable {
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
}

/// How many elements a buffer keeps, and which.
enum BufferLimit: Sendable {
    case unbounded
    case oldest(Int)
    case newest(Int)
}

extension AsyncStream.Continuation.BufferingPolicy {
    var bufferLimit: BufferLimit {
        switch self {
        case .unbounded: .unbounded
        case .bufferingOldest(let count): .oldest(count)
        case .bufferingNewest(let count): .newest(count)
        @unknown default: .unbounded
        }
    }
}

/// Elements on their way from one side to one waiting reader.
final class StreamBuffer<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var readCount = 0
        var reader: UnsafeContinuation<Element?, Never>?
        var isFinished = false
    }

    private enum Step {
        case give(Element?)
        case wait
    }

    private let limit: BufferLimit
    private let state = Mutex(State())

    init(limit: BufferLimit = .unbounded) {
        self.limit = limit
    }

    func push(_ element: Element) {
        let reader = state.withLock { state -> UnsafeContinuation<Element?, Never>? in
            guard !state.isFinished else { return nil }
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            let count = state.elements.count - state.readCount
            switch limit {
            case .oldest(let most) where count >= most: break
            case .newest(let most) where count >= most:
                if most > 0 {
                    state.readCount += 1
                    state.elements.append(element)
                }
            case .unbounded, .oldest, .newest: state.elements.append(element)
            }
            return nil
        }
        reader?.resume(returning: element)
    }

    /// Lets the reader take what is there, and no more.
    func finish() {
        let reader = state.withLock { state in
            state.isFinished = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }

    func next() async -> Element? {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Element?, Never>) in
            let step = state.withLock { state -> Step in
                if state.readCount < state.elements.count {
                    let element = state.elements[state.readCount]
                    state.readCount += 1
                    if state.readCount == state.elements.count {
                        state.elements.removeAll(keepingCapacity: true)
                        state.readCount = 0
                    } else if state.readCount >= 256 {
                        state.elements.removeFirst(state.readCount)
                        state.readCount = 0
                    }
                    return .give(element)
                }
                // A second reader would take the first one's place: it gets the end instead.
                if state.isFinished || state.reader != nil { return .give(nil) }
                state.reader = continuation
                return .wait
            }
            if case .give(let element) = step { continuation.resume(returning: element) }
        }
    }
}
