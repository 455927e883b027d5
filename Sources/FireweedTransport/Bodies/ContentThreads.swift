// The threads that open and read the content of requests.

/// The threads that open and read the content of requests.
///
/// A file on a server that does not respond, or a program's `InputStream`, may block a thread for ever, because open(2)
/// and read(2) cannot be cancelled then. So the number of such threads is limited.
package enum ContentThreads {
    /// The most threads that may be blocked; if all are, content fails with `URLError.cannotOpenFile`.
    package static let limit = 128
    /// The name of the threads in lists of threads.
    package static let name = "fireweed-body"

    static let shared = BlockingThreads(name: name, limit: limit, patience: .seconds(10), lingering: .seconds(1))
}
