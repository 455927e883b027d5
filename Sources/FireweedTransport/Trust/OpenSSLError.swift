// Errors of OpenSSL's calls.

import COpenSSL

/// The errors that a failed call left in the calling thread's error queue, oldest first.
struct OpenSSLError: Error, Sendable, CustomStringConvertible {
    /// One entry of the queue.
    struct Entry: Sendable, Equatable {
        let library: Int32
        let reason: Int32
        let text: String
    }

    let entries: [Entry]

    /// Removes all errors from the queue, and returns them.
    static func drain() -> OpenSSLError {
        var entries: [Entry] = []
        while case let code = ERR_get_error(), code != 0 {
            let text = ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
            entries.append(Entry(library: ERR_GET_LIB(code), reason: ERR_GET_REASON(code), text: text))
        }
        return OpenSSLError(entries: entries)
    }

    /// Runs `body`, and removes the errors that it left in the queue.
    ///
    /// Entries left during a handshake would turn a harmless "want read" into a failure (SSL_get_error(3)).
    static func discarding<Value>(_ body: () -> Value) -> Value {
        ERR_set_mark()
        defer { ERR_pop_to_mark() }
        return body()
    }

    func contains(library: Int32, reason: Int32) -> Bool {
        entries.contains { $0.library == library && $0.reason == reason }
    }

    var description: String {
        entries.isEmpty ? "no reason given" : entries.map(\.text).joined(separator: "; ")
    }
}
