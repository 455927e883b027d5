// Server-sent events.

import Foundation

extension DataStreamRequest {
    /// The default maximum length of an event, in bytes: 16 MiB.
    public static let defaultMaximumEventByteCount = 16 * 1024 * 1024

    /// Returns an async sequence of the server-sent events (WHATWG HTML §9.2), which continues across reconnections.
    ///
    /// The request sends `Accept: text/event-stream`, unless it already has an `Accept` field. When the connection
    /// ends, the request connects again after the server's `retry` time, with `Last-Event-ID`. The new connection is
    /// the request's next attempt, with its own task, and counts as a retry. Adapters run for each attempt; retriers
    /// are asked about failures other than those of the network. A request whose method is not idempotent, such as
    /// POST, does not connect again unless `reconnection` allows that: it might take effect with each connection (RFC
    /// 9110 §9.2.2). The sequence
    /// - ends with status 204;
    /// - throws `AFError.responseValidationFailed` for a status other than 200 and 204, and for a content type other
    ///   than `text/event-stream`; `data` has the content of a status from 400 on, up to
    ///   `DataStreamRequest.maximumErrorContentByteCount`;
    /// - throws the error of the request after `cancel()`, the session's end or a failure that is not transient.
    ///
    /// An event without its final empty line is dropped at the end of a connection. Call this before the request is
    /// resumed.
    ///
    /// <!-- sample: no-run: the server has no such events -->
    /// ```swift
    /// for try await event in session.streamRequest("https://example.com/events").serverSentEvents() {
    ///     print(event.event, event.data)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - reconnection: whether and when the request connects again. `nil`, the default, is `.automatic` with the
    ///     methods GET, HEAD, OPTIONS, TRACE, PUT and DELETE, and `.never` with every other method.
    ///   - maximumEventByteCount: the maximum length of a line and of an event's data, 16 MiB by default; a longer
    ///     event ends request and sequence with `StreamedContentError.eventTooLong`.
    /// - Returns: the events. An iterator that is released before the end cancels the request.
    public func serverSentEvents(
        reconnection: ServerSentEvent.Reconnection? = nil,
        maximumEventByteCount: Int = DataStreamRequest.defaultMaximumEventByteCount
    ) -> Elements<ServerSentEvent> {
        // The end of an iterator always cancels: otherwise the request would reconnect without a reader.
        elements(cancelling: true) { [self] in
            .events(of: receiver.becomeEventSource { EventSource(rule: reconnection) }, maximumEventByteCount)
        } convert: {
            .success($0)
        }
    }
}

extension PieceReader where Value == ServerSentEvent, Failure == AFError {
    /// Returns a reader that parses events, and records its progress in `source`.
    fileprivate static func events(of source: EventSource, _ maximumEventByteCount: Int) -> Self {
        let parser = QueueConfined(
            ServerSentEventParser(lastEventID: source.lastEventID, maximumEventByteCount: maximumEventByteCount))
        return PieceReader(isQuick: false, onFailure: .ends) { data, emit in
            parser.value.append(data)
            do throws(StreamedContentError) {
                while let event = try parser.value.next() {
                    emit(.success(event), event.data.utf8.count + event.event.utf8.count)
                }
            } catch {
                emit(.failure(error.asAFError), 0)
            }
            source.note(parser.value)
        } restart: {
            parser.value.restart()
        }
    }
}
