// The end of connections whose local address this machine has lost.

import Dispatch
import Foundation
import Glibc
import Synchronization

/// Tells event loops which local addresses were removed from this machine.
///
/// One watch serves the process. It sleeps until the kernel reports a removal, so that it costs a request nothing.
/// Removals that the kernel had to drop (ENOBUFS) leave connections to their time-outs, as does a sandbox without
/// AF_NETLINK.
enum AddressWatch {
    private struct State {
        var loops: [EventLoop] = []
        var hasBegun = false
        /// The process that has the watch: a child of fork(2) makes another.
        var forkCount = 0
    }

    private static let state = Mutex(State())
    private static let queue = DispatchQueue(label: "org.alamofire.addresses")

    /// Tells the loop of a context of removals from now on; the first loop hears the kernel.
    static func add(_ context: LoopContext) {
        let loop = context.loop
        let begins = state.withLock { state in
            if state.forkCount != ForkCount.current { state = State(forkCount: ForkCount.current) }
            if !state.loops.contains(where: { $0 === loop }) { state.loops.append(loop) }
            defer { state.hasBegun = true }
            return !state.hasBegun
        }
        guard begins, let socket = NetlinkSocket(groups: NetlinkSocket.addressChanges) else { return }
        let descriptor = socket.descriptor
        context.sockets.watchEdges(of: descriptor, for: Listener(socket: socket))
    }

    /// Keeps the socket as long as its loop lives.
    private final class Listener: SocketWatcher {
        private let socket: NetlinkSocket

        init(socket: consuming NetlinkSocket) { self.socket = socket }

        func socket(_ descriptor: Int32, isReady readiness: SocketReadiness) {
            // Reading the tables takes longer than a loop has.
            queue.async { addressesChanged(descriptor) }
        }

        func socket(_ descriptor: Int32, lostAddress address: IPAddress) {}
    }

    private static func addressesChanged(_ descriptor: Int32) {
        let removed = removedAddresses(descriptor)
        guard !removed.isEmpty, let present = presentAddresses() else { return }
        // An address that was moved to another interface, or came back at once, carries its connections on.
        let lost = removed.subtracting(present)
        guard !lost.isEmpty else { return }
        for loop in state.withLock({ $0.loops }) {
            loop.post { context in LostAddressSweep(lost, context).continueWork() }
        }
    }

    /// Reads all messages that wait.
    private static func removedAddresses(_ descriptor: Int32) -> Set<IPAddress> {
        var removed: Set<IPAddress> = []
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        while true {
            let count = buffer.withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress, $0.count, Int32(MSG_DONTWAIT))
            }
            if count < 0, errno == ENOBUFS || errno == EINTR { continue }
            guard count > 0 else { return removed }
            let messages = buffer.withUnsafeBytes {
                NetlinkMessage.all(in: UnsafeRawBufferPointer(rebasing: $0.prefix(count)))
            }
            for case .removedAddress(let bytes) in messages { removed.insert(IPAddress(bytes: bytes)) }
        }
    }

    /// The addresses that the machine has; `nil` when the kernel does not tell them all.
    private static func presentAddresses() -> Set<IPAddress>? {
        guard let messages = NetlinkSocket()?.addresses(), messages.contains(.done) else { return nil }
        return Set(
            messages.compactMap { message in
                if case .address(let bytes) = message { IPAddress(bytes: bytes) } else { nil }
            })
    }
}

/// Goes through the sockets of a loop, and tells the watchers of those with a lost local address.
final class LostAddressSweep: NextIteration {
    private let lost: Set<IPAddress>
    private let context: LoopContext
    private var next: Int32 = 0

    init(_ lost: Set<IPAddress>, _ context: LoopContext) {
        self.lost = lost
        self.context = context
    }

    /// Continues in the next turn where this one has no more time.
    func continueWork() {
        while next < context.sockets.descriptorLimit {
            let descriptor = next
            next += 1
            guard let watcher = context.sockets.watcher(of: descriptor) else { continue }
            context.turn.noteCost(TurnBudget.callCost)
            if case .internet(let address, _, _) = SocketAddress.local(of: descriptor), lost.contains(address) {
                watcher.socket(descriptor, lostAddress: address)
            }
            if context.turn.isOver { return context.continueAfterSockets(self) }
        }
    }
}

extension TransferFailure {
    /// The machine no longer has the address of a connection's own end.
    static func lostAddress(_ address: IPAddress) -> TransferFailure {
        .exchange(
            .networkConnectionLost,
            detail: "the connection is lost: this machine no longer has the address \(address)",
            engineCode: Int(EADDRNOTAVAIL))
    }
}
