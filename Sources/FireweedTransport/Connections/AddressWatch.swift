// The watch that ends connections whose local address this machine has lost.

import Dispatch
import Foundation
import Glibc
import Synchronization

/// Notifies event loops of local addresses that were removed from this machine.
///
/// The process has one watch, which reads only when the kernel reports a change, so it costs requests nothing. If the
/// kernel drops reports (ENOBUFS), or has no AF_NETLINK, as in a sandbox, affected connections end by their time-outs.
enum AddressWatch {
    private struct State {
        var loops: [EventLoop] = []
        var hasBegun = false
        /// `ForkCount.current` of the process that made this state: a child of fork(2) makes another watch.
        var forkCount = 0
    }

    private static let state = Mutex(State())
    private static let queue = DispatchQueue(label: "org.alamofire.addresses")

    /// Adds a loop that is notified of removals; the first loop also watches the kernel's socket.
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

    /// Owns the netlink socket; the loop holds this object, and the loop never ends.
    private final class Listener: SocketWatcher {
        private let socket: NetlinkSocket

        init(socket: consuming NetlinkSocket) { self.socket = socket }

        func socket(_ descriptor: Int32, isReady readiness: SocketReadiness) {
            // Reading the kernel's tables takes too long for an event loop.
            queue.async { addressesChanged(descriptor) }
        }

        func socket(_ descriptor: Int32, lostAddress address: IPAddress) {}
    }

    private static func addressesChanged(_ descriptor: Int32) {
        let removed = removedAddresses(descriptor)
        guard !removed.isEmpty, let present = presentAddresses() else { return }
        // An address that moved to another interface, or returned immediately, keeps its connections.
        let lost = removed.subtracting(present)
        guard !lost.isEmpty else { return }
        for loop in state.withLock({ $0.loops }) {
            loop.post { context in LostAddressSweep(lost, context).continueWork() }
        }
    }

    /// Reads all waiting messages, and returns the removed addresses.
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

    /// The machine's present addresses; `nil` if the kernel's list is incomplete.
    private static func presentAddresses() -> Set<IPAddress>? {
        guard let messages = NetlinkSocket()?.addresses(), messages.contains(.done) else { return nil }
        return Set(
            messages.compactMap { message in
                if case .address(let bytes) = message { IPAddress(bytes: bytes) } else { nil }
            })
    }
}

/// Goes through the sockets of a loop, and notifies the watchers of sockets with a lost local address.
final class LostAddressSweep: NextIteration {
    private let lost: Set<IPAddress>
    private let context: LoopContext
    private var next: Int32 = 0

    init(_ lost: Set<IPAddress>, _ context: LoopContext) {
        self.lost = lost
        self.context = context
    }

    /// Checks the sockets, and continues in the next turn when this turn has no more time.
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
    /// The failure of a connection whose local address this machine no longer has.
    static func lostAddress(_ address: IPAddress) -> TransferFailure {
        .exchange(
            .networkConnectionLost,
            detail: "the connection is lost: this machine no longer has the address \(address)",
            engineCode: Int(EADDRNOTAVAIL))
    }
}
