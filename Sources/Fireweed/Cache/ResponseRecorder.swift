// From a response on its way through to a stored one.

import FireweedTransport
import Foundation
import Synchronization

/// Gathers a response that is to be stored while it is being received.
///
/// The attempt that receives the response owns the recorder, so the recorder holds no reference to the attempt.
final class ResponseRecorder: Sendable {
    private let head: StoredHead
    private let url: URL
    private let cache: ResponseCache
    /// When the request was sent.
    private let moment: ResponseCache.Moment
    /// What has come so far; `nil` once that is too much to be stored.
    private let content = Mutex<Data?>(Data())

    private init(_ head: StoredHead, url: URL, cache: ResponseCache, moment: ResponseCache.Moment) {
        self.head = head
        self.url = url
        self.cache = cache
        self.moment = moment
    }

    /// Takes down what the head of a new response means for the cache; gives a recorder when the response is to be stored.
    ///
    /// - Parameter isValidated: whether the response answers a question about a stored one.
    static func note(
        _ head: ResponseHead, to request: CacheRequest, sentAt moment: ResponseCache.Moment, isValidated: Bool,
        cache: ResponseCache, host: (any CacheHost)?
    ) -> ResponseRecorder? {
        if request.isUnsafe {
            cache.invalidate(Invalidation.keys(after: head, to: request))
            return nil
        }
        if request.method == "HEAD" || (head.status == 304 && request.facts.validatesOwn) {
            learn(from: head, to: request, requestTime: moment.time, cache: cache)
            return nil
        }
        if let made = storable(head, to: request, requestTime: moment.time, cache: cache, host: host) {
            return ResponseRecorder(made, url: request.url, cache: cache, moment: moment)
        }
        if request.method == "GET", head.status < 400, head.status != 206, head.status != 304,
            isValidated || !request.looksIntoCache
        {
            cache.invalidate([CacheKey.text(of: request.url)])  // something newer is known, and not stored
        }
        return nil
    }

    private static func learn(
        from head: ResponseHead, to request: CacheRequest, requestTime: Date, cache: ResponseCache
    ) {
        guard head.status == 200 || head.status == 304, !request.facts.hasRange else { return }
        let now = cache.now()
        guard cache.mayHold(request.url) else { return }
        cache.queue.async {
            cache.learn(from: head, to: request, requestTime: requestTime, responseTime: now)
        }
    }

    /// The head as it is stored, or `nil` when the response is not to be.
    private static func storable(
        _ head: ResponseHead, to request: CacheRequest, requestTime: Date, cache: ResponseCache,
        host: (any CacheHost)?
    ) -> StoredHead? {
        guard head.marks.contains(.mayBeWorthStoring) || request.policy == .returnCacheDataElseLoad,
            host?.storesResponses ?? true, cache.maximumEntryByteCount > 0
        else { return nil }
        let control = CacheControl(head.value(of: "Cache-Control"))
        guard StoringRules.maySave(head, to: request, control: control),
            let variant = ResponseVariant(of: head, to: request, control: control),
            (head.contentLength ?? 0) <= Int64(cache.maximumEntryByteCount)
        else { return nil }
        let now = cache.now()
        return StoredHead(
            response: StoringRules.storable(head, receivedAt: now), requestTime: requestTime, responseTime: now,
            variant: variant)
    }

    /// Adds content that was taken; the record ends when it becomes too large to be stored.
    func append(_ bytes: UnsafeRawBufferPointer) {
        let limit = cache.maximumEntryByteCount
        content.withLock { content in
            guard let count = content?.count, count + bytes.count <= limit else { return content = nil }
            content?.append(contentsOf: bytes)
        }
    }

    /// Stores the complete response, if `decision` agrees; calls `then` after the decision.
    ///
    /// - Parameter decision: decides what is stored; `nil` stores the response as it is.
    func save(deciding decision: StoringDecision?, then: @escaping @Sendable () -> Void) {
        guard let content = content.withLock({ $0 }) else { return then() }
        let response = StoredResponse(head: head, content: content)
        guard let decision, let cached = response.cachedURLResponse(for: url) else {
            // Ahead of the end: a request that is made when this one is over finds the response.
            cache.save(response, for: url, sentAt: moment)
            return then()
        }
        decision(cached) { [self] chosen in
            // The first answer counts, whenever another one comes.
            guard self.content.withLock({ $0.take() }) != nil else { return }
            if let chosen, let response = chosen === cached ? response : response.replaced(by: chosen) {
                cache.save(response, for: url, sentAt: moment)
            }
            then()
        }
    }
}
