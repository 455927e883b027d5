// An attempt's request, response and metrics as Foundation's objects, made on first access.

package import FireweedTransport
package import Foundation
package import FoundationNetworking
import Synchronization

extension Attempt: ResponseContext {
    var request: URLRequest? { record.urlRequest }
    var response: HTTPURLResponse? { httpURLResponse }
    var requestMethod: String? { record.method }
    var statusCode: Int? { state.withLock { $0.head?.status } }
    var responseURL: URL? { state.withLock { $0.head == nil ? nil : $0.context.url } }
    var head: ResponseHead? { state.withLock { $0.head } }
    var trailers: FieldBlock? { state.withLock { $0.trailers } }
    /// The present message.
    var message: OutgoingMessage { state.withLock { $0.message } }
    /// The fields of the present message, including the fields that links added.
    var sentFields: FieldBlock { state.withLock { $0.context.fields } }
    /// The URL of a running message whose head has not come yet; `nil` otherwise.
    var awaitedURL: URL? { state.withLock { $0.life.isRunning && $0.head == nil ? $0.context.url : nil } }
    /// The URL of the present message; `nil` when a link gave the response instead of the network.
    var wireURL: URL? { state.withLock { $0.answeringLink == nil ? $0.context.url : nil } }

    func responseField(_ name: String) -> String? {
        state.withLock { $0.head }?.value(of: name)
    }

    /// The metrics of each message; `nil` while the attempt runs.
    var metrics: TaskMetrics? {
        let records = state.withLock { $0.life.stage == .ended ? $0.records : TinyArray() }
        return records.isEmpty ? nil : TaskMetrics(exchanges: Array(records))
    }
}

extension Attempt {
    /// The head of the present response, as Foundation's object, which is made at the first call.
    var httpURLResponse: HTTPURLResponse? {
        let (made, head, url) = state.withLock { ($0.task.response, $0.head, $0.context.url) }
        if let made { return made }
        guard let head, let response = head.httpURLResponse(for: url) else { return nil }
        state.withLock { $0.task.response = response }
        return response
    }

    /// The request that the attempt was made with; while a `URLProtocol` is being made, the protocol's request.
    var originalRequest: URLRequest? {
        if let offer = state.withLock({ $0.task.protocolOffer }), offer.isAccepted { return offer.request }
        return record.urlRequest
    }

    /// The request of the present message, or of the present offer to a `URLProtocol` class.
    var currentRequest: URLRequest? {
        let (offer, message, recordCount) = state.withLock { ($0.task.protocolOffer, $0.message, $0.records.count) }
        if let offer { return offer.request }
        return recordCount <= 1 && message.url == record.url ? record.urlRequest : Redirection.urlRequest(of: message)
    }

    var sessionTask: URLSessionTask {
        state.withLock { state in
            if let task = state.task.task { return task }
            let task = kind.makeTask(for: self)
            state.task.task = task
            if state.life.isRunning { state.task.keptTask = task }
            return task
        }
    }

    var taskState: URLSessionTask.State {
        state.withLock { state in
            switch state.life.stage {
            case .ended: .completed
            case .ready: .suspended
            case _ where state.failure != nil: .canceling
            case _: state.life.holds.reasons.contains(.suspended) ? .suspended : .running
            }
        }
    }

    var downloadCounts: (completed: Int64, total: Int64?) {
        state.withLock { state in
            (state.counters.completed, state.contentByteCount.map { $0 + state.counters.firstByteOffset })
        }
    }

    var contentByteCount: Int64? { state.withLock { $0.contentByteCount } }

    /// Whether the response has brought any content.
    var hasContent: Bool { state.withLock { $0.counters.completed > 0 } }

    var uploadCounts: (completed: Int64, total: Int64?) {
        state.withLock { ($0.counters.sent, $0.counters.expectedToSend) }
    }

    var error: (any Error)? {
        state.withLock { $0.life.stage == .ended ? $0.failure : nil }.map {
            $0.error(failingURL: record.url.absoluteString)
        }
    }
}

extension ResponseHead {
    /// Longest field value that Foundation may parse, in bytes: its parsing time grows with the square of the length.
    ///
    /// swift-corelibs-foundation 6.3 takes 1.8 s for 290 KB, and less than a millisecond for 4096 bytes.
    private static let parsedValueByteCount = 4096
    /// The fields that Foundation parses, for `mimeType`, `textEncodingName` and `suggestedFilename`.
    private static let parsedNames = ["content-type", "content-disposition"]

    /// Foundation's form of this head; fields of one name are joined by a comma, as Apple's are.
    ///
    /// A `Content-Type` or `Content-Disposition` of more than 4096 bytes is left out.
    package func httpURLResponse(for url: URL) -> HTTPURLResponse? {
        var joined: [String: String] = [:]
        var names: [String: String] = [:]
        for field in fields {
            // The first spelling of a name stays; later values are joined to the value under that spelling.
            let lowercased = field.name.lowercased()
            if let name = names[lowercased] {
                joined[name, default: ""].append(", \(field.value)")
            } else {
                names[lowercased] = field.name
                joined[field.name] = field.value
            }
        }
        for name in Self.parsedNames.compactMap({ names[$0] }) {
            if let value = joined[name], value.utf8.count > Self.parsedValueByteCount { joined[name] = nil }
        }
        return NamedHTTPURLResponse(url: url, statusCode: status, httpVersion: version, headerFields: joined)
    }
}

extension Attempt.State {
    /// The number of content bytes that `Content-Length` announces; `nil` without an announcement.
    ///
    /// Also `nil` for content with a coding: `Content-Length` then counts coded bytes (RFC 9110 §8.6).
    fileprivate var contentByteCount: Int64? {
        guard let head, !head.contains("Content-Encoding") else { return nil }
        return head.contentLength
    }
}
