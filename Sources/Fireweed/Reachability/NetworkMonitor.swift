// Notification of network changes.

import CLinux
import Dispatch
import FireweedTransport
import Glibc

/// Calls back when the kernel reports a change of links, addresses or routes.
///
/// The messages do not report everything: an IPv4 route disappears without a message when its link or the last address
/// does. So `onChange`, which reads the tables, is called immediately and again a moment later: the kernel removes such
/// routes just after its message about the address.
final class NetworkMonitor: @unchecked Sendable {
    // SAFETY: the source is made here and afterwards only cancelled, which Dispatch allows from any thread.
    private let source: any DispatchSourceRead

    /// How long after a change `onChange` is called again.
    private static let settlingTime = DispatchTimeInterval.milliseconds(40)

    /// Begins listening; `onChange` is called on `queue`.
    ///
    /// `nil` when the kernel refuses.
    init?(queue: DispatchQueue, onChange: @escaping @Sendable () -> Void) {
        guard let socket = NetlinkSocket(groups: NetlinkSocket.changes) else { return nil }
        // The source needs a duplicate: `socket` closes its own descriptor.
        let descriptor = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { return nil }
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
        source.setEventHandler {
            Self.drain(descriptor)
            onChange()
            queue.asyncAfter(deadline: .now() + Self.settlingTime, execute: onChange)
        }
        source.setCancelHandler { close(descriptor) }
        source.resume()
    }

    deinit { source.cancel() }

    /// Reads all messages.
    ///
    /// Messages that the kernel had to drop (ENOBUFS) do not matter, since the tables are read in any case.
    private static func drain(_ descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = buffer.withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
            }
            guard count > 0 || (count < 0 && (errno == ENOBUFS || errno == EINTR)) else { return }
        }
    }
}
