// What a request says about the head and the content of a response.

/// Whether content may follow the head of a response.
enum HeadDisposition {
    case proceed
    /// Content waits until the request calls `Attempt.allow()` or cancels.
    case wait
}

/// What a receiver of content says after each piece.
enum Intake {
    /// More may come.
    case wantsMore
    /// No more until `Attempt.resumeIntake()`.
    case isFull
}
