// One connection to a server, from connecting to closing.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

/// Speaks RESP on a connection: first the handshake, then the commands of its owner.
final class RESPLink: ByteConnectionListener, @unchecked Sendable {
    // SAFETY: the constants are `Sendable`, and `stage` is locked; the variables are touched only inside calls of the
    // connection, which come on its loop's thread.
    let purpose: RESPHandshake.Purpose
    private let place: ByteConnector.Destination
    private let stage = Mutex(Stage.idle)

    private enum Stage {
        case idle
        case begun(ByteConnection)
        /// The connection is released, since the connection retains the link until it ends.
        case closed

        var connection: ByteConnection? {
            if case .begun(let connection) = self { connection } else { nil }
        }
    }

    private weak var owner: RESPConnection?
    private var parser: RESPParser
    private var handshake: RESPHandshake?
    private var firstBytes: [UInt8] = []

    init(
        _ purpose: RESPHandshake.Purpose, at place: ByteConnector.Destination, owner: RESPConnection,
        limits: RESPParser.Limits
    ) {
        self.purpose = purpose
        self.place = place
        self.owner = owner
        parser = RESPParser(limits: limits)
        let handshake = RESPHandshake(purpose)
        self.handshake = handshake
        firstBytes = RESPArgument.encode(handshake.first)
    }

    /// Begins to connect, unless the link was closed.
    func begin(with connector: ByteConnector, loop: Int, timeout: Duration) {
        guard stage.withLock({ if case .idle = $0 { true } else { false } }) else { return }
        let made = connector.connect(to: place, loop: loop, timeout: timeout, listener: self)
        let isNeeded = stage.withLock { stage in
            guard case .idle = stage else { return false }
            stage = .begun(made)
            return true
        }
        // The connection is not needed if it has ended, or the link was closed, during this call.
        if isNeeded { made.wantsToSend() } else { made.close() }
    }

    /// Asks the owner for commands to send, on the loop's thread.
    func wantsToSend(wakeAt moment: UInt64? = nil) {
        stage.withLock { $0.connection }?.wantsToSend(wakeAt: moment)
    }

    /// Makes the connection call the owner no later than at a moment.
    func wake(at moment: UInt64) {
        stage.withLock { $0.connection }?.wake(at: moment)
    }

    /// Closes the connection; the owner is no longer called, except by a call in progress.
    func close() {
        let connection = stage.withLock { stage in
            defer { stage = .closed }
            return stage.connection
        }
        connection?.close()
    }

    // MARK: On the loop

    func connectionDidOpen(_ connection: ByteConnection) {}

    func connectionBytesToSend(_ connection: ByteConnection) -> [UInt8] {
        guard handshake == nil else {
            defer { firstBytes = [] }
            return firstBytes
        }
        return owner?.bytesToSend(on: self) ?? []
    }

    func connection(_ connection: ByteConnection, didReceive bytes: UnsafeRawBufferPointer) {
        parser.append(bytes)
        var replies: [RESPValue] = []
        do throws(RESPSyntaxError) {
            while let value = try parser.next() {
                if case .push = value { continue }
                guard handshake != nil else {
                    replies.append(value)
                    continue
                }
                guard advance(value, connection) else { return }
            }
            if !replies.isEmpty { owner?.link(self, didReceive: replies) }
        } catch {
            if !replies.isEmpty { owner?.link(self, didReceive: replies) }
            close()
            owner?.link(self, didEnd: .malformedReply(reason: error.description))
        }
    }

    /// Continues the handshake; false if the connection was closed.
    private func advance(_ reply: RESPValue, _ connection: ByteConnection) -> Bool {
        do throws(FleetError) {
            switch try handshake?.handle(reply) {
            case .send(let command):
                firstBytes = RESPArgument.encode(command)
                connection.wantsToSend()
            case .ready:
                handshake = nil
                owner?.linkIsReady(self)
            case .discovered(let host, let port):
                close()
                owner?.link(self, didDiscover: host, port)
                return false
            case nil: break
            }
            return true
        } catch {
            close()
            owner?.link(self, didEnd: error)
            return false
        }
    }

    func connection(_ connection: ByteConnection, didEnd failure: TransferFailure?) {
        stage.withLock { $0 = .closed }
        let reason =
            switch failure {
            case .exchange(_, let detail, _): detail
            case nil: "the server closed the connection"
            case let other?: other.urlError(failingURL: "").localizedDescription
            }
        owner?.link(self, didEnd: .unreachable(reason: reason))
    }

    func connection(_ connection: ByteConnection, timeReached now: UInt64) -> UInt64? {
        owner?.link(self, timeReached: now)
    }
}
