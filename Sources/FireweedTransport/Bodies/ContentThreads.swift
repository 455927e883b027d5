// The threads that open and read the content of requests.

/// The threads on which content is opened and read.
///
/// A file on a server that does not answer, and the `InputStream` of a program, may keep a thread for ever: neither
/// open(2) nor read(2) can be ended there. The number of such threads is bounded.
package enum ContentThreads {
    /// The most threads that may be blocked; when all are, content fails with `URLError.cannotOpenFile`.
    package static let limit = 128
    /// The name in thread lists.
    package static let name = "fireweed-body"

    static let shared = BlockingThreads(name: name, limit: limit, patience: .seconds(10), lingering: .seconds(1))
}
