// The links of the chain that every message of a session walks.

import Dispatch
import FireweedTransport

/// One step of the chain between a request and the wire: redirects, credentials, cookies, the cache.
///
/// A message passes the links outermost first; its response passes them innermost first. A link has no state of its
/// own: its notes until the response comes are in the `ChainContext`, and its notes for the next message are in the
/// message. No lock is held while a link runs. Links run on any thread, the transport's included, and never wait: a
/// link that needs time returns `Decision.wait` or `.later`.
protocol Link: Sendable {
    /// The heads that the link has to see.
    var interest: HeadInterest { get }

    /// Decides about a message on its way out.
    ///
    /// A message that is sent again passes the whole chain again.
    func send(_ exchange: inout ChainContext, for host: any LinkContext) -> Decision

    /// Observes the heads of its interest that come from the wire, before any link decides; never a stored head.
    func observe(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext)

    /// Decides about a head of its interest, or a head that the exchange awaits, after the links further in.
    func receive(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext) -> Decision

    /// Decides about a failure that came before a head.
    ///
    /// `Decision.wait` and `.later` mean the same as `pass` here: a link that needs time sends the message again, and
    /// waits in `send`.
    func recover(from failure: TransferFailure, in exchange: inout ChainContext, for host: any LinkContext) -> Decision
}

extension Link {
    var interest: HeadInterest { HeadInterest() }

    func send(_ exchange: inout ChainContext, for host: any LinkContext) -> Decision { .pass }

    func observe(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext) {}

    func receive(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext) -> Decision { .pass }

    func recover(from failure: TransferFailure, in exchange: inout ChainContext, for host: any LinkContext) -> Decision
    {
        .pass
    }
}

/// A link's decision about a message or a response.
enum Decision: Sendable {
    /// The next link is asked.
    case pass
    /// Another transfer gives the response, instead of the wire or of the response that came.
    case answer(LocalAnswer)
    /// Another message is sent, and passes the whole chain; the rest of the response that came is discarded.
    indirect case again(OutgoingMessage)
    /// The attempt ends with this failure.
    case fail(TransferFailure)
    /// The decision comes later.
    case wait(Wait)
    /// The closure decides on the queue, where it may take time.
    case later(on: DispatchQueue, _ decide: @Sendable (inout ChainContext) -> Decision)
}

/// A response that does not come over the wire; the links further out see its head.
struct LocalAnswer: Sendable {
    let source: AnswerSource
    /// Makes the transfer that gives the response.
    let makeTransfer: @Sendable (any TransferConsumer) -> any TransferControl
}

/// A decision that comes later.
struct Wait: Sendable {
    /// Continues the walk: the closure takes the exchange as it was, and decides.
    ///
    /// May be called on any thread, immediately, late, twice or never; the first call counts.
    typealias Resume = @Sendable (_ decide: @Sendable (inout ChainContext) -> Decision) -> Void

    /// Begins to wait; returns a closure that ends the wait.
    ///
    /// That closure is called at most once, when the decision is not needed any more.
    let begin: @Sendable (_ resume: @escaping Resume) -> @Sendable () -> Void

    init(_ begin: @escaping @Sendable (_ resume: @escaping Resume) -> @Sendable () -> Void) {
        self.begin = begin
    }

    /// Waits for something that cannot be cancelled.
    init(_ begin: @escaping @Sendable (_ resume: @escaping Resume) -> Void) {
        self.begin = { resume in
            begin(resume)
            return {}
        }
    }
}

/// The heads that concern a link.
///
/// Most heads concern no link, and are not sent up the chain at all.
struct HeadInterest: Sendable {
    /// Any head with one of these marks.
    var marks: ResponseHead.Marks = []
    /// One bit for each first digit of a status code.
    private var statusClasses: UInt16 = 0

    init(marks: ResponseHead.Marks = [], statusClass: Int? = nil) {
        self.marks = marks
        if let statusClass { statusClasses = 1 << UInt16(statusClass) }
    }

    func concerns(_ head: ResponseHead) -> Bool {
        !marks.isDisjoint(with: head.marks) || statusClasses & 1 << UInt16(head.status / 100) != 0
    }

    func union(_ other: HeadInterest) -> HeadInterest {
        var union = self
        union.marks.formUnion(other.marks)
        union.statusClasses |= other.statusClasses
        return union
    }
}
