// The number of bytes that loopback buffers between a sender and a reader that does not read.

import Foundation

/// How much loopback buffers.
public enum LoopbackSlack {
    /// Maximum bytes in the buffers of a connection on loopback, including our own buffers.
    ///
    /// The kernel gives a reader as much memory as it believes to be useful: mostly a few MiB, sometimes the maximum.
    public static let byteCount = limit("tcp_rmem") + limit("tcp_wmem") + 4 << 20

    /// The last of the three numbers of a setting, the maximum.
    private static func limit(_ name: String) -> Int {
        let text = try? String(contentsOfFile: "/proc/sys/net/ipv4/\(name)", encoding: .utf8)
        guard let last = text?.split(whereSeparator: \.isWhitespace).last, let limit = Int(last) else {
            preconditionFailure("\(name) cannot be read")
        }
        return limit
    }
}
