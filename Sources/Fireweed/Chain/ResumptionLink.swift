// Going on with a download in the chain.

import FireweedTransport

/// Decides whether a response is the rest of a file that is there in part; a link of one download alone.
///
/// The outermost link: redirects and challenges have been followed when it decides.
struct ResumptionLink: Link {
    /// Decides about the head of a response; gives true when the whole has to be asked for instead.
    let asksForWhole: @Sendable (ResponseHead) -> Bool

    func send(_ exchange: inout Exchange, for host: any LinkHost) -> Decision {
        exchange.awaitsHead = true
        return .pass
    }

    func receive(_ head: ResponseHead, in exchange: inout Exchange, for host: any LinkHost) -> Decision {
        guard asksForWhole(head) else { return .pass }
        var next = exchange.message
        next.fields = FieldBlock(
            next.fields.fields.filter { field in
                !["Range", "If-Range"].contains(where: field.name.isEqualIgnoringASCIICase)
            })
        next.urlRequest = nil
        next.digest = nil  // a nonce that was used is a new challenge's
        return .again(next)
    }
}
