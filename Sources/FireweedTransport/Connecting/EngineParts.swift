// The parts of the engine that tests replace.

import Foundation
import Glibc

/// The engine's dependencies on the system, which tests replace.
struct EngineParts: Sendable {
    var resolver = NameResolver.shared
    var openSocket: SocketOpener = { socket($0, $1, 0) }
    /// Has all pools of the process close their idle connections, and calls back; false where there are none.
    var freeDescriptors: @Sendable (_ done: @escaping @Sendable () -> Void) -> Bool = {
        Descriptors.closeIdle(then: $0)
    }
    /// Opens the file of an upload; may block.
    var openFile: @Sendable (_ url: URL) throws -> OpenFile = { try OpenFile($0) }
    /// Gets the first token of Negotiate for a host; may block.
    var negotiateToken: @Sendable (_ host: String) -> [UInt8]? = { NegotiateToken.token(forHost: $0) }
    /// After so long without a byte on a connection of HTTP/2, in nanoseconds, a PING leaves with the next message.
    var quietTime: LoopInstant = 5_000_000_000
    /// So long a 100 is waited for before content leaves, in nanoseconds (RFC 9110 §10.1.1).
    var continueTime: LoopInstant = 1_000_000_000
}
