// A buffer of elements for one waiting reader.

import FireweedTransport
import Synchronization

/// The limit of a buffer of elements, and which elements it keeps.
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

/// A buffer that any thread may fill, and that one reader awaits.
final class StreamBuffer<Element: Sendable>: Sendable {
    private struct State {
        var elements = ElementQueue<Element>()
        var reader: UnsafeContinuation<Element?, Never>?
        var isFinished = false
    }

    private enum Reply {
        case give(Element?)
        case wait
    }

    private let limit: BufferLimit
    private let state = Mutex(State())

    init(limit: BufferLimit = .unbounded) {
        self.limit = limit
    }

    /// The number of buffered elements.
    var count: Int { state.withLock { $0.elements.count } }

    func push(_ element: Element) {
        let reader = state.withLock { state -> UnsafeContinuation<Element?, Never>? in
            guard !state.isFinished else { return nil }
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            switch limit {
            case .oldest(let most) where state.elements.count >= most: break
            case .newest(let most) where state.elements.count >= most:
                guard most > 0 else { break }
                _ = state.elements.popFirst()
                state.elements.append(element)
            case .unbounded, .oldest, .newest: state.elements.append(element)
            }
            return nil
        }
        reader?.resume(returning: element)
    }

    /// Ends the sequence after the buffered elements; with `discarding`, drops these elements.
    func finish(discarding: Bool = false) {
        let reader = state.withLock { state in
            state.isFinished = true
            if discarding { state.elements = ElementQueue() }
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }

    func next() async -> Element? {
        // An unsafe continuation is safe here: the thread that takes it out of the state resumes it, exactly once.
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Element?, Never>) in
            let step = state.withLock { state -> Reply in
                if let element = state.elements.popFirst() { return .give(element) }
                // A second reader would replace the first reader, so it gets the end of the sequence.
                if state.isFinished || state.reader != nil { return .give(nil) }
                state.reader = continuation
                return .wait
            }
            if case .give(let element) = step { continuation.resume(returning: element) }
        }
    }
}
