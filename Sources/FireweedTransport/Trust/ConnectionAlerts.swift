// How the TLS connections of a pool ended, for all of their transfers.

/// The alerts of TLS connections, by origin and local port.
///
/// An HTTP/2 connection carries transfers that did not open it. When the server ends it with an alert, the alert is the
/// cause of all of them. Loop-confined.
struct ConnectionAlerts {
    private struct Key: Hashable {
        let origin: String
        let port: Int
    }

    private struct Entry {
        let alerts: PeerAlerts
        let socket: OpenedSocket
    }

    private var entries: [Key: Entry] = [:]
    /// With so many entries, those of closed connections are dropped: one by one they would cost a look at all entries.
    private var limit = Self.smallestLimit

    private static let smallestLimit = 16

    /// Adds a connection that is being made; `nil` for a socket that is not known.
    mutating func add(_ alerts: PeerAlerts, of socket: OpenedSocket?, to origin: String) {
        // The port of a closed connection may be the new connection's.
        if entries.count >= limit || socket == nil {
            entries = entries.filter { !$0.value.alerts.isOver }
            limit = max(Self.smallestLimit, 2 * entries.count)
        }
        guard let socket else { return }
        let port = LocalPort.of(socket.descriptor)
        if port > 0 { entries[Key(origin: origin, port: port)] = Entry(alerts: alerts, socket: socket) }
    }

    /// The fatal alert that ended a connection, which is read first if it is still to be read.
    ///
    /// Never from inside libcurl.
    func fatalAlert(from origin: String, onPort port: Int) -> TLSAlert? {
        guard let entry = entries[Key(origin: origin, port: port)] else { return nil }
        entry.alerts.readRest(from: entry.socket)
        return entry.alerts.fatal
    }
}
