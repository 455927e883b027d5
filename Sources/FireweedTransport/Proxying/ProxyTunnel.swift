// A tunnel through a proxy to an origin, over a connected channel.

import Foundation

/// The owner of a tunnel; its methods run on the loop's thread, some of them inside `ProxyTunnel.begin()`.
protocol ProxyTunnelOwner: AnyObject {
    /// The socket was ready to send or receive bytes of the handshake with the proxy.
    func layerDidProgress()
    /// The tunnel is established; `rest` are the bytes that followed the proxy's response.
    func tunnelIsMade(_ tunnel: ProxyTunnel, rest: [UInt8])
    func tunnel(_ tunnel: ProxyTunnel, didFail failure: TransferFailure)
    /// The proxy closes this connection; the owner continues the handshake on another connection.
    func tunnel(_ tunnel: ProxyTunnel, needsConnectionFor handshake: ConnectHandshake)
}

/// Performs the handshake with a proxy over a channel.
final class ProxyTunnel {
    /// The handshake protocol of the proxy, with its state.
    enum Handshake {
        case connect(ConnectHandshake)
        case socks(SOCKSHandshake)
    }

    private var handshake: Handshake
    private let channel: ByteChannel
    private let context: LoopContext
    private weak var owner: (any ProxyTunnelOwner)?
    private var pending: [UInt8] = []
    private var pendingOffset = 0
    private var isOver = false

    /// The most bytes of one read.
    private static let readByteCount = 16 * 1024

    /// Makes a tunnel over a channel whose socket is registered with epoll as edge-triggered.
    init(_ handshake: Handshake, over channel: ByteChannel, context: LoopContext, owner: any ProxyTunnelOwner) {
        self.handshake = handshake
        self.channel = channel
        self.context = context
        self.owner = owner
    }

    /// Begins the handshake; may call the owner before it returns.
    func begin() {
        // The result can be ignored: `drive()` reads at once, and so notices an earlier end of the connection.
        _ = context.sockets.hand(channel.descriptor, to: self)
        switch handshake {
        case .connect(var connect):
            do throws(TransferFailure) {
                pending = try connect.begin()
            } catch {
                return fail(error)
            }
            handshake = .connect(connect)
        case .socks(let socks): pending = socks.greeting
        }
        drive()
    }

    /// Stops the handshake; afterwards the owner is not called any more and has to close the channel.
    func abandon() { isOver = true }

    private func drive() {
        while !isOver {
            send()
            guard receive() else { return }
        }
    }

    private func send() {
        while pendingOffset < pending.count {
            let outcome = pending.withUnsafeBytes {
                channel.send(UnsafeRawBufferPointer(rebasing: $0[pendingOffset...]), .init(start: nil, count: 0))
            }
            switch outcome {
            case .bytes(let count): pendingOffset += count
            case .wouldBlock, .end: return
            // A failed write is ignored here: bytes that the proxy sent before it closed can still be read.
            case .failed: pendingOffset = pending.count
            }
        }
        pending = []
        pendingOffset = 0
    }

    /// Reads once; returns false if no bytes are available, or if the handshake is over.
    private func receive() -> Bool {
        let buffer = UnsafeMutableRawBufferPointer(rebasing: context.readBuffer[..<Self.readByteCount])
        do throws(TransferFailure) {
            switch channel.receive(into: buffer) {
            case .bytes(let count): try take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            case .wouldBlock: return false
            case .end: try ended()
            case .failed(let failure): throw failure
            }
        } catch {
            fail(error)
        }
        return !isOver
    }

    private func take(_ bytes: UnsafeRawBufferPointer) throws(TransferFailure) {
        var rest = bytes
        while !isOver {
            switch handshake {
            case .connect(var connect):
                let event = try connect.next(&rest)
                handshake = .connect(connect)
                guard perform(event, connect, rest) else { return }
            case .socks(var socks):
                let event = try socks.next(&rest)
                handshake = .socks(socks)
                switch event {
                case .needsMore: return
                case .send(let bytes): pending += bytes
                case .established: return finish(Array(rest))
                }
            }
        }
    }

    /// Handles an event; returns false if the next event needs more bytes.
    private func perform(
        _ event: ConnectHandshake.Event, _ connect: ConnectHandshake, _ rest: UnsafeRawBufferPointer
    ) -> Bool {
        switch event {
        case .needsMore: return false
        case .send(let bytes): pending += bytes
        case .established: finish(Array(rest))
        case .refused(let refusal): fail(refusal.failure)
        case .reconnect:
            isOver = true
            owner?.tunnel(self, needsConnectionFor: connect)
        }
        return true
    }

    /// Handles the end of the proxy's stream.
    private func ended() throws(TransferFailure) {
        switch handshake {
        case .connect(var connect):
            let event = try connect.finish()
            _ = perform(event, connect, UnsafeRawBufferPointer(start: nil, count: 0))
            // The proxy cannot read another request on this connection.
            if !isOver { throw .proxyFailed("the proxy closed the connection during CONNECT") }
        case .socks(let socks): throw socks.cut
        }
    }

    private func finish(_ rest: [UInt8]) {
        isOver = true
        owner?.tunnelIsMade(self, rest: rest)
    }

    private func fail(_ failure: TransferFailure) {
        isOver = true
        owner?.tunnel(self, didFail: failure)
    }
}

extension ProxyTunnel: SocketWatcher {
    func socket(_ descriptor: Int32, isReady readiness: SocketReadiness) {
        owner?.layerDidProgress()
        channel.flush()
        drive()
    }

    func socket(_ descriptor: Int32, lostAddress address: IPAddress) {
        if !isOver { fail(.lostAddress(address)) }
    }
}
