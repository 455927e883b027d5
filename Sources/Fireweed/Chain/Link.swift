// The links of the chain that every message of a session walks.

import FireweedTransport

/// A part of the way between a request and the wire, such as redirects, credentials, cookies or the cache.
///
/// A message walks the links outermost first; what comes back walks them innermost first. A link has no state of its
/// own: what it has to remember until the answer comes is in the `Exchange`, and what it has to remember for the next
/// message is in the message. No lock is held while a link runs. Links run on any thread, the transport's among them,
/// and never wait: a link that needs time returns `Decision.wait`.
protocol Link: Sendable {
    /// The heads that the link has to see.
    var interest: HeadInterest { get }

    /// Sees a message on its way out.
    ///
    /// A message that is sent again walks the whole chain again.
    func send(_ exchange: inout Exchange, for host: any LinkHost) -> Decision

    /// Sees the heads of its interest that the wire gives, before any link decides; never a stored head.
    func observe(_ head: ResponseHead, in exchange: inout Exchange, for host: any LinkHost)

    /// Decides about a head that the link below lets pass, where the head is of its interest or somebody awaits it.
    func receive(_ head: ResponseHead, in exchange: inout Exchange, for host: any LinkHost) -> Decision

    /// Decides about a failure that came before a head.
    ///
    /// `Decision.wait` means the same as `pass` here: a link that needs time lets the message be sent again, and waits
    /// in `send`.
    func recover(from failure: TransferFailure, in exchange: inout Exchange, for host: any LinkHost) -> Decision
}

extension Link {
    var interest: HeadInterest { HeadInterest() }

    func send(_ exchange: inout Exchange, for host: any LinkHost) -> Decision { .pass }

    func observe(_ head: ResponseHead, in exchange: inout Exchange, for host: any LinkHost) {}

    func receive(_ head: ResponseHead, in exchange: inout Exchange, for host: any LinkHost) -> Decision { .pass }

    func recover(from failure: TransferFailure, in exchange: inout Exchange, for host: any LinkHost) -> Decision {
        .pass
    }
}

/// What a link says about a message or an answer.
enum Decision: Sendable {
    /// The next link is asked.
    case pass
    /// Another transfer answers, in place of the wire or of the response that came.
    case answer(LocalAnswer)
    /// Another message is sent. It walks the whole chain; the rest of the response that came is discarded.
    indirect case again(OutgoingMessage)
    /// The attempt ends with this failure.
    case fail(TransferFailure)
    /// The decision comes later.
    case wait(Wait)
}

/// An answer that does not come over the wire, and whose head the links above see.
struct LocalAnswer: Sendable {
    let source: AnswerSource
    /// Makes the transfer that gives the answer.
    let makeTransfer: @Sendable (any TransferConsumer) -> any TransferControl
}

/// A decision that comes later.
struct Wait: Sendable {
    /// Continues with the walk: the closure is given the exchange as it was, and decides.
    ///
    /// Callable from any thread, at once, late, twice or never; the first call counts.
    typealias Resume = @Sendable (_ decide: @Sendable (inout Exchange) -> Decision) -> Void

    /// Begins to wait.
    ///
    /// The result is called when the decision is not needed any more, at most once.
    let begin: @Sendable (_ resume: @escaping Resume) -> @Sendable () -> Void

    init(_ begin: @escaping @Sendable (_ resume: @escaping Resume) -> @Sendable () -> Void) {
        self.begin = begin
    }

    /// Waits for something that cannot be called off.
    init(_ begin: @escaping @Sendable (_ resume: @escaping Resume) -> Void) {
        self.begin = { resume in
            begin(resume)
            return {}
        }
    }
}

/// Which heads concern a link.
///
/// Most heads concern none, so that the walk back is left out for them.
struct HeadInterest: Sendable {
    /// Any head with one of these marks.
    var marks: ResponseHead.Marks = []
    /// One bit for each first digit of a status.
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
