// What the cache asks of the attempt that it works for.

import FireweedTransport
import Foundation
import FoundationNetworking

/// Where a hop's response came from.
enum HopSource: Sendable {
    /// The network.
    case network
    /// The cache alone.
    case cache
    /// The cache, after the origin confirmed it with this answer.
    case revalidation(ResponseHead, TransferReport)
    /// Nowhere: only a stored response was wanted, and none is suitable.
    case notSent

    var isNetwork: Bool { if case .network = self { true } else { false } }
}

/// The attempt behind a cached exchange; it is called from any thread.
protocol CacheHost: AnyObject, Sendable {
    /// Called before the head of a response that comes from the cache, and before the end of a hop that sends nothing.
    func cacheWillAnswer(_ source: HopSource)
    /// Stores the cookies of an answer that the attempt does not see; called on the cache's queue.
    func storeCookies(of head: ResponseHead, from url: URL)
    /// The same attempt for a validation behind its answer, of which it hears nothing.
    var background: any CacheHost { get }
    /// Whether responses to this attempt are stored.
    var storesResponses: Bool { get }
    /// Whether somebody decides what is stored, or hears of it: `storingDecision` is then not `nil`. Cheap.
    var asksAboutStoring: Bool { get }
    /// Who decides what is stored, or `nil` when nobody wants to be asked or to hear of it.
    var storingDecision: StoringDecision? { get }
}

/// An attempt whose answer was given already, for the validation behind it.
final class BackgroundHost: CacheHost {
    let storesResponses: Bool
    let storingDecision: StoringDecision?
    var asksAboutStoring: Bool { storingDecision != nil }
    private let store: @Sendable (ResponseHead, URL) -> Void

    /// Keeps what is asked of `host` now: later it may have ended.
    init(_ host: any CacheHost, storingCookies store: @escaping @Sendable (ResponseHead, URL) -> Void) {
        storesResponses = host.storesResponses
        storingDecision = host.storingDecision
        self.store = store
    }

    var background: any CacheHost { self }

    func cacheWillAnswer(_ source: HopSource) {}

    func storeCookies(of head: ResponseHead, from url: URL) {
        store(head, url)
    }
}

/// Asks about a response that is about to be stored; `completion` is called once, with what is to be stored.
typealias StoringDecision =
    @Sendable (_ response: CachedURLResponse, _ completion: @escaping @Sendable (CachedURLResponse?) -> Void) -> Void
