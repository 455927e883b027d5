// Command lines that cannot be understood.

/// Why a command line cannot be understood, in one sentence.
package struct UsageError: Error, Equatable {
    /// The sentence.
    package let message: String

    /// Makes an error.
    package init(message: String) {
        self.message = message
    }
}
