// How long a test waits before it says that something will never happen.

/// The one place for the limits of tests' waiting.
///
/// None of them says how fast something is: on a busy machine, or under a sanitizer, a moment can take a minute.
public enum Patience {
    /// How long to wait for one event.
    public static let limit = Duration.seconds(seconds)
    /// The same, in seconds.
    public static let seconds = 180
    /// How many minutes a test may take in all.
    public static let minutes = 10
}
