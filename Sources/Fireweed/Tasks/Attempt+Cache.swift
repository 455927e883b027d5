// An attempt and the cache of its session.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Attempt {
    /// A transfer that the cache has a say in; also for policies that mean something to a session without a cache.
    func makeCachedTransfer(of message: consuming RequestMessage, for hop: Hop) -> any TransferControl {
        guard core.cache != nil || cachePolicy == .returnCacheDataDontLoad else {
            return core.transport.makeTransfer(of: message, for: self)
        }
        let cache = core.cache ?? .none
        if cachePolicy != .returnCacheDataDontLoad, !cache.mayHold(hop.url), !cache.wantsOnlyCached(message.fields) {
            state.withLock { $0.recording = .awaitingHead(sentAt: cache.moment) }
            return core.transport.makeTransfer(of: message, for: self)
        }
        return CachedExchange(
            cacheRequest(for: hop, message.fields, in: cache), message: message, cache: cache,
            transport: core.transport, consumer: self, host: self)
    }

    func cacheRequest(for hop: Hop, _ fields: FieldBlock, in cache: ResponseCache) -> CacheRequest {
        // An answer to a Digest challenge is another one each time; the credentials behind it are what counts.
        let isAnswer = hop.digest != nil
        let fields =
            isAnswer
            ? FieldBlock(fields.fields.filter { !$0.name.isEqualIgnoringASCIICase("Authorization") }) : fields
        var request = CacheRequest(
            url: hop.url, method: hop.method, fields: fields, facts: cache.facts(of: fields), policy: cachePolicy)
        if case .none = hop.body {} else { request.hasContent = true }
        request.credentials = hop.credentials.map { "\($0.user):\($0.password)" }
        request.separatesCookies = cache.separatesCookies
        return request
    }

    /// Takes down what a head means for the cache, of a response that nothing stored could have answered.
    func noteForCache(_ head: ResponseHead, sentAt moment: ResponseCache.Moment, isMemoryOnly: Bool = false) {
        // Most heads mean nothing to a cache, unless somebody is asked about every response.
        let isOrdinary =
            cachePolicy == .useProtocolCachePolicy && head.status != 304 && !head.marks.contains(.mayBeWorthStoring)
            && !asksAboutStoring
        let asked = state.withLock { state -> (hop: Hop, fields: FieldBlock)? in
            state.recording = .none
            return isOrdinary && state.hop.method == "GET" ? nil : (state.hop, state.sentFields ?? state.hop.fields)
        }
        guard let cache = core.cache, let asked else { return }
        let request = cacheRequest(for: asked.hop, asked.fields, in: cache)
        let recorder = ResponseRecorder.note(
            head, to: request, sentAt: moment, isValidated: false, isMemoryOnly: isMemoryOnly, cache: cache, host: self)
        if let recorder { state.withLock { $0.recording = .content(recorder) } }
    }

    /// The fields with what the policy asks of caches on the way (RFC 9111 §5.2.1, §5.4), unless the request asks for
    /// something.
    ///
    /// As browsers do: a reload past all caches sends `no-cache`, a reload that revalidates sends `max-age=0`.
    static func fields(_ fields: FieldBlock, telling policy: URLRequest.CachePolicy) -> FieldBlock {
        let wishes: [Field] =
            switch policy {
            case .reloadIgnoringLocalAndRemoteCacheData:
                [Field(name: "Cache-Control", value: "no-cache"), Field(name: "Pragma", value: "no-cache")]
            case .reloadRevalidatingCacheData: [Field(name: "Cache-Control", value: "max-age=0")]
            default: []
            }
        let missing = wishes.filter { !fields.contains($0.name) }
        return missing.isEmpty ? fields : FieldBlock(fields.fields + missing)
    }

    /// The task as a `CachedResponseHandler` gets it.
    var storingTask: URLSessionDataTask? {
        sessionTask as? URLSessionDataTask
    }
}

extension Attempt: CacheHost {
    func cacheWillAnswer(_ source: HopSource) {
        state.withLock { $0.source = source }
    }

    func storeCookies(of head: ResponseHead, from url: URL) {
        guard core.settings.storesCookies else { return }
        store(head, for: url)
    }

    var background: any CacheHost {
        BackgroundHost(self) { [core, record] head, url in
            guard core.settings.storesCookies else { return }
            core.cookies.store(head, for: url, settings: core.settings, of: record)
        }
    }

    /// Downloads are answered by the cache, and not stored: their content is in a file already.
    var storesResponses: Bool {
        if case .download = kind { false } else { true }
    }

    var asksAboutStoring: Bool {
        kind != .webSocket && storesResponses && state.withLock { $0.owner }?.asksAboutStoring == true
    }

    var storingDecision: StoringDecision? {
        state.withLock { $0.owner }?.storingDecision(for: self)
    }
}
