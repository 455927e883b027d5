// The number of bytes that the loopback interface buffers between a sender and a reader that does not read.

import Foundation

/// The distance that loopback allows.
public enum LoopbackSlack {
    /// What the buffers of a connection on loopback may hold, ours with them, in bytes.
    ///
    /// The kernel gives a reader as much memory as it believes to be useful: mostly a few MiB, now and then all that it
    /// may.
    public static let byteCount = limit("tcp_rmem") + limit("tcp_wmem") + 4 << 20

    /// The last of the three numbers of such a setting.
    private static func limit(_ name: String) -> Int {
        let text = try? String(contentsOfFile: "/proc/sys/net/ipv4/\(name)", encoding: .utf8)
        guard let last = text?.split(whereSeparator: \.isWhitespace).last, let limit = Int(last) else {
            preconditionFailure("\(name) cannot be read")
        }
        return limit
    }
}
