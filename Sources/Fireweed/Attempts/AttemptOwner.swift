// What an attempt tells the request that it is made for.

import FireweedTransport

/// Whether an attempt may go on after the response's head.
enum HeadDisposition {
    case proceed
    /// The owner will call `Attempt.allow()` or cancel; content waits until then.
    case wait
}

/// What somebody who takes content says after a piece of it.
enum Intake {
    /// More may come.
    case wantsMore
    /// No more until `Attempt.resumeIntake()`.
    case isFull
}

/// The request behind an attempt.
///
/// Called on the transport's thread, in order; no method may wait.
protocol AttemptOwner: AnyObject, Sendable {
    /// Links of this request alone; they are outside of the session's.
    var links: [any Link] { get }
    /// Whether the owner wants to see the head before any content.
    var wantsHead: Bool { get }
    func attempt(_ attempt: Attempt, didReceive head: ResponseHead) -> HeadDisposition
    /// A challenge came, which credentials may answer: the engine has done so already, or the next message will, or nobody does.
    func attempt(_ attempt: Attempt, didReceiveChallenge head: ResponseHead)
    /// A `URLProtocol` asks for credentials.
    func attempt(_ attempt: Attempt, didReceive challenge: ShownChallenge)
    /// A redirect is about to be followed, or shown to a handler.
    func attempt(_ attempt: Attempt, willRedirectTo next: OutgoingMessage)
    /// Whether the owner gathers content, and wants to hear when there is no more at hand.
    var gathersContent: Bool { get }
    func attempt(_ attempt: Attempt, didReceive bytes: UnsafeRawBufferPointer) -> Intake
    /// No more content is at hand.
    func attemptDidReachLull(_ attempt: Attempt)
    func attempt(_ attempt: Attempt, didSend byteCount: Int, total: Int64, expected: Int64?)
    /// There is no route; the attempt goes on when there is one. On any thread.
    func attemptWaitsForConnectivity(_ attempt: Attempt)
    /// The last call. `failure` is nil when a whole response came.
    func attemptDidComplete(_ attempt: Attempt, failure: TransferFailure?)
    /// Who decides about redirects, if it is not the session's rules alone.
    var effectiveRedirectHandler: (any RedirectHandler)? { get }
    /// Whether `storingDecision(for:)` gives somebody.
    var asksAboutStoring: Bool { get }
    /// Who decides what is stored, or hears of it; `nil` for nobody.
    func storingDecision(for attempt: Attempt) -> StoringDecision?
}
