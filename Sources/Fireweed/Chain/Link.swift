// The links of the chain that every message of a session walks.

import Dispatch
import FireweedTransport

/// One step of the chain between a request and the transport: redirects, credentials, cookies, the cache.
///
/// A message passes the links outermost first; its response passes them innermost first. A link keeps no state of a
/// single message: its notes until the response comes are in the `ChainContext`, and its notes for the next message are
/// in the message. No lock is held while a link runs. Links run on any thread, the transport's included, and never
/// wait: a link that needs time returns `Decision.deferred`.
protocol Link: AnyObject, Sendable {
    /// The response heads that the link has to see.
    var interest: HeadInterest { get }

    /// Decides about a message on its way out.
    ///
    /// A message that is sent again passes the whole chain again.
    func send(_ exchange: inout ChainContext, for host: any LinkContext) -> Decision

    /// Observes a head from the transport that matches `interest`, before any link decides; not called for stored
    /// heads.
    func observe(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext)

    /// Decides about a head that matches `interest`, or that the exchange awaits; the links further in decide first.
    func receive(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext) -> Decision

    /// Receives the outcome of an exchange that the link let pass; called once, after the links further in.
    ///
    /// - Returns: the replacement of an exchange that failed before its response began; has no effect after another
    ///   outcome. The links further out then learn the outcome of the replacement.
    func ended(_ outcome: ExchangeOutcome, of exchange: ChainContext, for host: any LinkContext) -> Recovery?
}

extension Link {
    var interest: HeadInterest { HeadInterest() }

    func send(_ exchange: inout ChainContext, for host: any LinkContext) -> Decision { .pass }

    func observe(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext) {}

    func receive(_ head: ResponseHead, in exchange: inout ChainContext, for host: any LinkContext) -> Decision { .pass }

    func ended(_ outcome: ExchangeOutcome, of exchange: ChainContext, for host: any LinkContext) -> Recovery? { nil }
}

/// The outcome of an exchange, for its links.
enum ExchangeOutcome: Sendable {
    /// The response was received, and was stored if it had to be.
    case answered
    indirect case failed(TransferFailure)
    /// The attempt was cancelled, or continues with another message before a response came.
    case abandoned
}

/// The replacement of an exchange that failed.
enum Recovery: Sendable {
    /// Another transfer delivers the response.
    case answer(LocalAnswer)
    /// Another message is sent, and passes the whole chain.
    indirect case again(OutgoingMessage)
}

/// A link's decision about a message or a response.
enum Decision: Sendable {
    /// The next link decides.
    case pass
    /// Another transfer delivers the response, instead of the transport or instead of a response that was received.
    case answer(LocalAnswer)
    /// Another message is sent, and passes the whole chain; the rest of the received response is discarded.
    indirect case again(OutgoingMessage)
    /// The attempt ends with this failure.
    indirect case fail(TransferFailure)
    /// The decision comes later.
    case deferred(DeferredDecision)

    /// A decision that the closure makes on the queue, where the closure may block.
    static func deferred(
        on queue: DispatchQueue, _ decide: @escaping @Sendable (inout ChainContext) -> Decision
    ) -> Decision {
        .deferred(DeferredDecision { resume in queue.async { resume(decide) } })
    }
}

/// A response that does not come from the transport; the links further out see its head.
struct LocalAnswer: Sendable {
    let source: AnswerSource
    /// Makes the transfer that delivers the response.
    let makeTransfer: @Sendable (any TransferConsumer) -> any TransferControl
}

/// A decision that comes later.
struct DeferredDecision: Sendable {
    /// Continues the walk through the chain: `decide` gets the exchange and returns the decision.
    ///
    /// May be called on any thread, immediately, late, twice or never; the first call counts.
    typealias Resume = @Sendable (_ decide: @Sendable (inout ChainContext) -> Decision) -> Void

    /// Begins the work that leads to the decision; returns a closure that stops it.
    ///
    /// The returned closure is called at most once, when the decision is not needed any more.
    let begin: @Sendable (_ resume: @escaping Resume) -> @Sendable () -> Void

    init(_ begin: @escaping @Sendable (_ resume: @escaping Resume) -> @Sendable () -> Void) {
        self.begin = begin
    }

    /// A decision whose work cannot be stopped.
    init(_ begin: @escaping @Sendable (_ resume: @escaping Resume) -> Void) {
        self.begin = { resume in
            begin(resume)
            return {}
        }
    }
}

/// The response heads that a link has to see.
///
/// Most heads concern no link, and are not passed up the chain.
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
