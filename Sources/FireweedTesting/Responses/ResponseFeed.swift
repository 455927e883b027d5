// Content that a test sends while a request runs.

public import Foundation
import Synchronization

/// Streams content into a response under the test's control.
///
/// ```swift
/// let feed = ResponseFeed()
/// let session = Session.stubbed { Stub.get("/prices").reply(.stream(from: feed)) }
/// // … begin a stream request, then:
/// feed.send("12.5\n")
/// feed.finish()
/// ```
///
/// Every method may be called from any thread. Content that is sent before the request arrives is buffered. A feed is
/// for one request: a second request fails, in a stubbed session with `URLError.resourceUnavailable`.
public final class ResponseFeed: Sendable {
    enum Event: Sendable {
        case data(Data)
        case finish
        case failure(any Error)
    }

    private struct State {
        var waiting: [Event] = []
        var listener: (@Sendable (Event) -> Void)?
        var isTaken = false
        var hasEnded = false
    }

    private let state = Mutex(State())

    /// Makes a feed that has sent nothing.
    public init() {}

    /// Sends text as UTF-8; does nothing after the end.
    public func send(_ text: String) { send(Data(text.utf8)) }

    /// Sends bytes; does nothing after the end.
    public func send(_ data: Data) { note(.data(data)) }

    /// Ends the content, and with it the response.
    public func finish() { note(.finish) }

    /// Ends the exchange with a failure.
    public func fail(with error: any Error = URLError(.networkConnectionLost)) {
        note(.failure(error))
    }

    private func note(_ event: Event) {
        let listener = state.withLock { state -> (@Sendable (Event) -> Void)? in
            guard !state.hasEnded else { return nil }
            if case .data = event {} else { state.hasEnded = true }
            if state.listener == nil { state.waiting.append(event) }
            return state.listener
        }
        listener?(event)
    }

    /// Passes buffered and later events to a listener; false when another response already uses the feed.
    func listen(_ listener: @escaping @Sendable (Event) -> Void) -> Bool {
        let waiting = state.withLock { state -> [Event]? in
            guard !state.isTaken else { return nil }
            state.isTaken = true
            return state.waiting
        }
        guard let waiting else { return false }
        for event in waiting { listener(event) }
        // During this call, other threads may buffer further events. When none is left, later events go to the listener
        // directly.
        var count = waiting.count
        while true {
            let more = state.withLock { state -> [Event] in
                let more = Array(state.waiting.dropFirst(count))
                if more.isEmpty {
                    state.listener = listener
                    state.waiting = []
                }
                return more
            }
            guard !more.isEmpty else { return true }
            for event in more { listener(event) }
            count += more.count
        }
    }
}
