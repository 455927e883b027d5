// Time limits of tests.

/// The time-outs of all tests.
///
/// They are backstops, not performance limits: on a busy machine, or under a sanitizer, a step can take a minute.
public enum TestTimeouts {
    /// How long to wait for one event.
    public static let limit = Duration.seconds(seconds)
    /// How long to wait for one event, in seconds.
    public static let seconds = 180
    /// The time limit of one test, in minutes.
    public static let minutes = 10
}
