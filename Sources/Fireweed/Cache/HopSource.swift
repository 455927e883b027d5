// Where responses come from.

import FireweedTransport
import Foundation
import FoundationNetworking

/// Where a hop's response came from.
enum HopSource: Sendable {
    /// The network.
    case network
    /// The cache.
    case cache
    /// The cache, after the origin confirmed the stored response.
    case revalidation
    /// Nowhere: only a stored response was wanted, and none is suitable.
    case notSent
}

/// Asks about a response that is about to be stored; `completion` is called once, with what is to be stored.
typealias StoringDecision =
    @Sendable (_ response: CachedURLResponse, _ completion: @escaping @Sendable (CachedURLResponse?) -> Void) -> Void
