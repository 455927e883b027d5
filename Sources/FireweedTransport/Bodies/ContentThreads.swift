// The threads that open and read the content of requests.

/// The threads on which content is opened and read.
///
/// A file on a server that does not answer, and the `InputStream` of a program, may keep a thread for ever: neither
/// open(2) nor read(2) can be ended there. The number of such threads is bounded.
enum ContentThreads {
    static let shared = BlockingThreads(
        name: "fireweed-body", limit: 128, patience: .seconds(10), lingering: .seconds(1))
}
