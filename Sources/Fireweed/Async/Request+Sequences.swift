// The events of a request as async sequences.

import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

extension Request {
    /// The upload progress: one element each time that content of the request was sent.
    ///
    /// Ends with the request. Every sequence, and the progress handler, get each change. All elements are the same
    /// `Progress` object, which is updated.
    ///
    /// - Parameter bufferingPolicy: what is kept for a slow reader; everything, by default.
    /// - Returns: the sequence.
    public func uploadProgress(
        bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .unbounded
    ) -> StreamOf<Progress> {
        progressStream(\.upload, bufferingPolicy)
    }

    /// The download progress: one element each time that content of the response was received.
    ///
    /// Ends with the request. Every sequence, and the progress handler, get each change. All elements are the same
    /// `Progress` object, which is updated.
    ///
    /// - Parameter bufferingPolicy: what is kept for a slow reader; everything, by default.
    /// - Returns: the sequence.
    public func downloadProgress(
        bufferingPolicy: StreamOf<Progress>.BufferingPolicy = .unbounded
    ) -> StreamOf<Progress> {
        progressStream(\.download, bufferingPolicy)
    }

    /// Each `URLRequest` that is about to be sent, one for each attempt; the first element is the latest
    /// `URLRequest`, if there is one already.
    ///
    /// Ends with the request.
    public func urlRequests(
        bufferingPolicy: StreamOf<URLRequest>.BufferingPolicy = .unbounded
    ) -> StreamOf<URLRequest> {
        stream(\.urlRequests, bufferingPolicy, present: { $0.attempts.last?.record }, show: \.urlRequest)
    }

    /// Each task that is made, one for each attempt; the first element is the latest task, if there is one already.
    ///
    /// Ends with the request.
    public func urlSessionTasks(
        bufferingPolicy: StreamOf<URLSessionTask>.BufferingPolicy = .unbounded
    ) -> StreamOf<URLSessionTask> {
        stream(\.tasks, bufferingPolicy, present: { $0.attempts.last }, show: \.sessionTask)
    }

    /// A `curl` command for each attempt; the first element is the latest command, if there is one already.
    ///
    /// Ends with the request.
    public func cURLDescriptions(
        bufferingPolicy: StreamOf<String>.BufferingPolicy = .unbounded
    ) -> StreamOf<String> {
        stream(\.commands, bufferingPolicy, present: { $0.records.last }, show: { [self] _ in cURLDescription() })
    }
}

extension DataRequest {
    /// The head of the final response of each attempt, before its content.
    ///
    /// Ends with the request. Content does not wait for the reader: use `onHTTPResponse` to decide about the response.
    public func httpResponses(
        bufferingPolicy: StreamOf<HTTPURLResponse>.BufferingPolicy = .unbounded
    ) -> StreamOf<HTTPURLResponse> {
        stream(\.responses, bufferingPolicy, present: { _ in nil }, show: { (response: HTTPURLResponse) in response })
    }
}

extension DataStreamRequest {
    /// The head of the final response of each attempt, before its content.
    ///
    /// Ends with the request. Content does not wait for the reader: use `onHTTPResponse` to decide about the response.
    public func httpResponses(
        bufferingPolicy: StreamOf<HTTPURLResponse>.BufferingPolicy = .unbounded
    ) -> StreamOf<HTTPURLResponse> {
        stream(\.responses, bufferingPolicy, present: { _ in nil }, show: { (response: HTTPURLResponse) in response })
    }
}

extension Request {
    /// Adds a listener for each iterator; the present value, if there is one, is its first element.
    fileprivate func stream<Element: Sendable, Present: Sendable>(
        _ path: any WritableKeyPath<RequestListeners, [StreamBuffer<Element>]> & Sendable,
        _ policy: StreamOf<Element>.BufferingPolicy,
        present: @escaping @Sendable (MutableState) -> Present?,
        show: @escaping @Sendable (Present) -> Element
    ) -> StreamOf<Element> {
        StreamOf { [self] in
            let buffer = StreamBuffer<Element>(limit: policy.bufferLimit)
            let (first, isDone) = mutable.withLock { state in
                let first = present(state)
                let isDone = state.lifecycle.work == .done
                if !isDone {
                    state.withExtras { extras in
                        extras.listeners[keyPath: path].append(buffer)
                        extras.endings.append { buffer.finish() }
                    }
                }
                return (first, isDone)
            }
            if let first { buffer.push(show(first)) }
            if isDone { buffer.finish() }
            return StreamSource {
                await buffer.next()
            } onTermination: { [self] in
                mutable.withLock { $0.extras?.listeners[keyPath: path].removeAll { $0 === buffer } }
                buffer.finish(discarding: true)
            }
        }
    }

    private func progressStream(
        _ direction: any WritableKeyPath<ProgressTracker.State, ProgressTracker.Direction> & Sendable,
        _ policy: StreamOf<Progress>.BufferingPolicy
    ) -> StreamOf<Progress> {
        StreamOf { [self] in
            let buffer = StreamBuffer<Progress>(limit: policy.bufferLimit)
            progress.read(direction) { $0.listeners.append(buffer) }
            let isDone = mutable.withLock { state in
                let isDone = state.lifecycle.work == .done
                if !isDone { state.withExtras { $0.endings.append { buffer.finish() } } }
                return isDone
            }
            if isDone { buffer.finish() }
            return StreamSource {
                await buffer.next()
            } onTermination: { [self] in
                progress.read(direction) { $0.listeners.removeAll { $0 === buffer } }
                buffer.finish(discarding: true)
            }
        }
    }
}
