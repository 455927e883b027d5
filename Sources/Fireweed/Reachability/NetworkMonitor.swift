// Hears when the network changes.

import CLinux
import Dispatch
import Glibc

/// Calls back when the kernel tells of a change of links, addresses or routes.
///
/// What changed is not taken from the message: IPv4 routes go without one when their link or last address goes. The
/// tables are asked anew instead, at once and again a moment later, because the kernel removes such routes just after
/// it has told of the address.
final class NetworkMonitor: @unchecked Sendable {
    // SAFETY: the source is made here and afterwards only cancelled, which Dispatch allows from any thread.
    private let source: any DispatchSourceRead

    /// How long after the last change the tables are asked again.
    private static let settlingTime = DispatchTimeInterval.milliseconds(40)

    /// Starts to listen; `onChange` is called on `queue`.
    ///
    /// `nil` when the kernel refuses.
    init?(queue: DispatchQueue, onChange: @escaping @Sendable () -> Void) {
        guard let socket = NetlinkSocket(groups: NetlinkSocket.changes) else { return nil }
        // The source owns a descriptor of its own.
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

    /// Reads everything that is there; that the kernel had to drop messages changes nothing (ENOBUFS), the tables are
    /// asked anyway.
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
