// What shutdown(2) can be told.

/// The numbers of shutdown(2).
///
/// Which C module has its constants for Swift depends on which of them includes <sys/socket.h> first.
enum Shutdown {
    /// `SHUT_RDWR`: neither direction goes on.
    static let both: Int32 = 2
}
