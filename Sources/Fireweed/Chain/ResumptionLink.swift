// The resumption of a download in the chain.

import FireweedTransport

/// Decides whether a response is the rest of a partial file; a link of one download only.
///
/// The outermost link: it sees a response after redirects and challenges.
final class ResumptionLink: Link {
    /// Decides about the head of a response; true when the whole representation has to be requested instead.
    let asksForWhole: @Sendable (ResponseHead) -> Bool

    init(asksForWhole: @escaping @Sendable (ResponseHead) -> Bool) {
        self.asksForWhole = asksForWhole
    }

    func send(_ exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        exchange.awaitsHead = true
        return .pass
    }

    func receive(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext) -> Decision {
        guard asksForWhole(head) else { return .pass }
        var next = exchange.message
        next.fields = FieldBlock(
            next.fields.fields.filter { field in
                !["Range", "If-Range"].contains(where: field.name.isEqualIgnoringASCIICase)
            })
        next.urlRequest = nil
        next.digest = nil  // the nonce count of this answer was used already
        return .again(next)
    }
}
