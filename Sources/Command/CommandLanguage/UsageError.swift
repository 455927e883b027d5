// Errors in command lines.

/// A command line that cannot be parsed, with the reason in one sentence.
package struct UsageError: Error, Equatable, CustomStringConvertible {
    /// The sentence.
    package let message: String

    /// The same sentence.
    package var description: String { message }

    /// Makes an error.
    package init(message: String) {
        self.message = message
    }
}
