// Errors in command lines.

/// A command line that cannot be parsed, with the reason in one sentence.
package struct UsageError: Error, Equatable {
    /// The sentence.
    package let message: String

    /// Makes an error.
    package init(message: String) {
        self.message = message
    }
}
