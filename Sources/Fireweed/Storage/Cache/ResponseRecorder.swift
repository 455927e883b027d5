// The recording of a received response for the cache.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// The rule for storing the responses of a request.
struct StoringPolicy {
    /// Whether the request's responses are stored.
    var stores = true
    /// Whether a handler is asked about every response that could be stored.
    var asks = false
    /// Whether a monitor wants the event `willCacheResponse`, which comes for every response that could be stored.
    var tells = false

    /// Whether responses that the cache would not store are recorded too.
    var isAboutAll: Bool { asks || tells }

    /// Whether other requests may wait for the response: false with a handler, which decides only after the whole
    /// response.
    var mayLead: Bool { stores && !asks }
}

/// Collects a response while it is received, in order to store it or to pass it to a handler or monitor.
///
/// The attempt that receives the response owns the recorder, so the recorder holds no reference to the attempt.
final class ResponseRecorder: Sendable {
    /// Work that must end before the request ends; the work stays in the group until it has ended.
    typealias DeferredWork = @Sendable (DispatchGroup) -> Void

    private let head: StoredHead
    /// False for a response that is stored only if a handler wants it.
    private let isStorable: Bool
    /// Whether a handler decides; a monitor does not make a response storable.
    private let isAsked: Bool
    /// True for a response that must not reach a disk.
    private let isMemoryOnly: Bool
    /// Whether the stored response is obsolete even if this response does not replace it.
    private let outdatesStored: Bool
    private let request: CacheQuery
    private let cache: ResponseCache
    /// The moment at which the request was sent.
    private let moment: ResponseCache.Moment
    /// The content so far; `nil` once it is too large to be stored.
    private let content = Mutex<Data?>(Data())

    private init(
        _ head: StoredHead, isStorable: Bool, isAsked: Bool, isMemoryOnly: Bool, outdatesStored: Bool,
        request: CacheQuery,
        cache: ResponseCache, moment: ResponseCache.Moment
    ) {
        self.head = head
        self.isStorable = isStorable
        self.isAsked = isAsked
        self.isMemoryOnly = isMemoryOnly
        self.outdatesStored = outdatesStored
        self.request = request
        self.cache = cache
        self.moment = moment
    }

    /// Applies the head of a new response to the cache, and returns a recorder when the response is to be stored.
    ///
    /// `isValidated` is true for the response to a validation of a stored response. `isMemoryOnly` is true when the
    /// response must not reach a disk. `deferredWork` receives the work that must end before the request ends.
    static func note(
        _ head: ResponseHead, to request: CacheQuery, sentAt moment: ResponseCache.Moment, isValidated: Bool,
        isMemoryOnly: Bool = false, cache: ResponseCache, storing policy: StoringPolicy,
        deferredWork: inout [DeferredWork]
    ) -> ResponseRecorder? {
        if request.isUnsafe {
            cache.invalidate(Invalidation.keys(after: head, to: request))
            return nil
        }
        if request.method == "HEAD" || (head.status == 304 && request.facts.validatesOwn) {
            if let work = learning(from: head, to: request, requestTime: moment.time, cache: cache) {
                deferredWork.append(work)
            }
            return nil
        }
        let isNewer =
            request.method == "GET" && head.status < 400 && head.status != 206 && head.status != 304
            && (isValidated || !request.looksIntoCache)
        let recorder = recorder(
            of: head, to: request, sentAt: moment, isNewer: isNewer, isMemoryOnly: isMemoryOnly, cache: cache,
            storing: policy)
        if recorder == nil, isNewer { cache.invalidate([request.key]) }
        return recorder
    }

    /// Updates the stored response with the head of an answer that is not stored; returns the work that must end before
    /// the request ends.
    ///
    /// `nil` for a ``ResponseStore``: the update and later look-ups run on one queue, in this order.
    private static func learning(
        from head: ResponseHead, to request: CacheQuery, requestTime: Date, cache: ResponseCache
    ) -> DeferredWork? {
        guard head.status == 200 || head.status == 304, !request.facts.hasRange else { return nil }
        let now = cache.now()
        guard cache.mayHold(request.key) else { return nil }
        let learn = { @Sendable (stored: StoredResponse?) in
            guard let stored else { return }
            cache.learn(from: head, to: request, about: stored, requestTime: requestTime, responseTime: now)
        }
        guard cache.isRemote else {
            cache.select(for: request, learn)
            return nil
        }
        return { group in
            group.enter()
            cache.select(for: request) { stored in
                learn(stored)
                group.leave()
            }
        }
    }

    /// Returns a recorder for a response that is to be stored, or passed to a handler or monitor; `nil` for any other.
    private static func recorder(
        of head: ResponseHead, to request: CacheQuery, sentAt moment: ResponseCache.Moment, isNewer: Bool,
        isMemoryOnly: Bool, cache: ResponseCache, storing policy: StoringPolicy
    ) -> ResponseRecorder? {
        let isWorthALook = head.marks.contains(.mayBeWorthStoring) || request.policy == .returnCacheDataElseLoad
        guard isWorthALook || policy.isAboutAll, policy.stores,
            cache.maximumEntryByteCount > 0, (head.contentLength ?? 0) <= Int64(cache.maximumEntryByteCount)
        else { return nil }
        let control = CacheControl(head.value(of: "Cache-Control"))
        var variant = ResponseVariant(of: head, to: request, control: control)
        let isStorable =
            isWorthALook && variant != nil && (!isMemoryOnly || cache.storesInMemory)
            && StoringRules.maySave(head, to: request, control: control)
        if !isStorable {
            guard policy.isAboutAll,
                StoringRules.mayBecomeStorable(head, to: request, control: control)
            else { return nil }
            // This variant is a placeholder: `changed` makes the variant from the handler's response.
            variant = variant ?? ResponseVariant(names: [], selection: Data(), credentials: nil)
        }
        guard let variant else { return nil }
        let now = cache.now()
        let stored = StoredHead(
            response: StoringRules.storable(head, receivedAt: now), requestTime: moment.time, responseTime: now,
            variant: variant)
        return ResponseRecorder(
            stored, isStorable: isStorable, isAsked: policy.asks, isMemoryOnly: isMemoryOnly,
            outdatesStored: isNewer && !isStorable,
            request: request, cache: cache,
            moment: moment)
    }

    /// Whether the response, once it is stored, can answer a request equal to its own.
    var answersEqualRequests: Bool {
        guard isStorable, head.variant.matches(request) else { return false }
        return if case .answer = ReuseRules.decide(request, stored: head, now: cache.now()) { true } else { false }
    }

    /// Adds received content; the recording ends when the content becomes too large to be stored.
    ///
    /// - Returns: false once the recording has ended.
    func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let limit = cache.maximumEntryByteCount
        return content.withLock { content in
            guard let count = content?.count, count + bytes.count <= limit else {
                content = nil
                return false
            }
            content?.append(contentsOf: bytes)
            return true
        }
    }

    /// Stores the complete response, if `decision` agrees; calls `then` after the decision.
    ///
    /// A `decision` of `nil` stores the response as it is. A monitor, which changes nothing, is shown `received`:
    /// Foundation takes long to make another.
    func save(
        deciding decision: StoringDecision?, received: @autoclosure () -> HTTPURLResponse?,
        then: @escaping @Sendable () -> Void
    ) {
        guard let content = content.withLock({ $0 }) else {
            store(nil)
            return then()
        }
        let response = StoredResponse(head: head, content: content, isMemoryOnly: isMemoryOnly)
        func shown() -> CachedURLResponse? {
            isAsked
                ? response.cachedURLResponse(for: request.url)
                : received().map { response.cachedURLResponse(with: $0) }
        }
        guard let decision, let cached = shown() else {
            // The response is stored before the request ends, so that a request made afterwards finds it.
            store(isStorable ? response : nil)
            return then()
        }
        decision(cached) { [self] chosen in
            // Only the first answer of the handler counts.
            guard self.content.withLock({ $0.take() }) != nil else { return }
            let isWanted = isStorable || isAsked
            store(isWanted ? chosen.flatMap { changed(response, by: $0 === cached ? nil : $0) } : nil)
            then()
        }
    }

    private func store(_ response: StoredResponse?) {
        if let response { return cache.save(response, for: request.key, sentAt: moment) }
        if outdatesStored { cache.invalidate([request.key]) }
    }

    /// Returns the response that a handler wants to store, if RFC 9111 and the store allow it; with `chosen` `nil`, the
    /// response as it is.
    ///
    /// The fields need not make the response reusable: a policy such as `returnCacheDataElseLoad` uses a response of
    /// any age.
    private func changed(_ response: StoredResponse, by chosen: CachedURLResponse?) -> StoredResponse? {
        guard var changed = chosen.map({ response.replaced(by: $0) }) ?? response,
            changed.content.count <= cache.maximumEntryByteCount, !changed.isMemoryOnly || cache.storesInMemory
        else { return nil }
        let head = changed.head.response
        let control = CacheControl(head.value(of: "Cache-Control"))
        guard StoringRules.mayStore(head, to: request, control: control),
            let variant = ResponseVariant(of: head, to: request, control: control)
        else { return nil }
        changed.head.variant = variant
        return changed
    }
}

/// Asks a handler about a response that is about to be stored; `completion` is called once, with the response to store.
typealias StoringDecision =
    @Sendable (_ response: CachedURLResponse, _ completion: @escaping @Sendable (CachedURLResponse?) -> Void) -> Void
