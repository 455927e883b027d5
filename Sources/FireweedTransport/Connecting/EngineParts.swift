// The parts of the engine that tests replace.

import Foundation
import Glibc

/// The engine's dependencies on the system, which tests replace.
struct EngineParts: Sendable {
    var resolver = NameResolver.shared
    var openSocket: SocketOpener = { socket($0, $1, 0) }
    /// Makes all pools of the process close their idle connections and then calls `done`; false if there are none to
    /// close.
    var freeDescriptors: @Sendable (_ done: @escaping @Sendable () -> Void) -> Bool = {
        Descriptors.closeIdle(then: $0)
    }
    /// Opens the file of an upload; may block.
    var openFile: @Sendable (_ url: URL) throws -> OpenFile = { try OpenFile($0) }
    /// Gets the first Negotiate token for a host; may block.
    var negotiateToken: @Sendable (_ host: String) -> [UInt8]? = { NegotiateToken.token(forHost: $0) }
    /// The quiet time on an HTTP/2 connection, in nanoseconds, after which the next message is sent with a PING.
    var quietTime: LoopInstant = 5_000_000_000
    /// The longest wait for a 100 response before the content is sent, in nanoseconds (RFC 9110 §10.1.1).
    var continueTime: LoopInstant = 1_000_000_000
}
