// The links in their order.

import FireweedTransport

/// The links that a message passes, outermost first, and the heads that each of them has to see.
struct LinkChain: Sendable {
    private let links: [any Link]
    private let interests: [HeadInterest]
    /// The heads that concern any of the links.
    let interest: HeadInterest

    init(_ links: [any Link]) {
        self.links = links
        interests = links.map(\.interest)
        interest = interests.reduce(HeadInterest()) { $0.union($1) }
    }

    /// Returns the chain with the links of one request added outside its own links.
    func behind(_ own: [any Link]) -> LinkChain {
        own.isEmpty ? self : LinkChain(own + links)
    }

    var indices: Range<Int> { links.indices }

    subscript(index: Int) -> any Link {
        _read { yield links[index] }
    }

    /// Whether the link with this index has to see a head.
    func concerns(_ head: ResponseHead, at index: Int) -> Bool {
        interests[index].concerns(head)
    }
}
