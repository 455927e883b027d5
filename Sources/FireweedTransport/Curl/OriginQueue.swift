// The line in front of an origin's connections.

/// Counts the transfers that run to one origin, and keeps the ones that have to wait for a connection.
///
/// libcurl has a line of its own, but looks through it whenever anything moves: with 64 requests on six connections
/// that is a third of its work. A transfer that could not have a connection is therefore not given to it at all. Where
/// one connection carries many exchanges there is no line.
final class OriginQueue {
    /// The part of a URL up to the path.
    let origin: String
    /// The addresses of the host; `nil` where we look up nothing.
    let addresses: OriginAddresses?
    /// Most transfers at a time; `nil` for no limit.
    private var limit: Int?
    private let connectionLimit: Int
    private(set) var runningCount = 0
    /// Whether the peer was found to carry several exchanges on one connection.
    private(set) var isMultiplexed = false
    /// New transfers use connections that were made in the same generation, and no others.
    private(set) var generation = 0
    private var waiting: [Transfer] = []
    /// What stands before it has left the line already.
    private var head = 0

    /// Makes the line of an origin; `multiplexes` when one connection may carry many exchanges.
    init(origin: String, connectionLimit: Int, multiplexes: Bool, addresses: OriginAddresses?) {
        self.origin = origin
        self.addresses = addresses
        self.connectionLimit = connectionLimit
        limit = multiplexes || connectionLimit <= 0 ? nil : connectionLimit
    }

    var isEmpty: Bool { runningCount == 0 && head == waiting.count }

    /// True when this is the origin of `url`.
    func matches(_ url: String) -> Bool {
        guard url.hasBytePrefix(origin) else { return false }
        let next = url.utf8.dropFirst(origin.utf8.count).first
        return next == nil || next == 0x2F || next == 0x3F || next == 0x23  // / ? #
    }

    /// Takes a transfer in: true when it may run now, false when it has been put in line.
    func enter(_ transfer: Transfer) -> Bool {
        guard let limit, runningCount >= limit else {
            runningCount += 1
            return true
        }
        waiting.append(transfer)
        return false
    }

    /// One that ran has ended.
    func leave() {
        runningCount -= 1
    }

    /// The next that may run, if there is room and anyone waits; it counts as running from now on.
    func next() -> Transfer? {
        while limit.map({ runningCount < $0 }) ?? true, head < waiting.count {
            let transfer = waiting[head]
            head += 1
            if head == waiting.count || head >= 256 {
                waiting.removeFirst(head)
                head = 0
            }
            guard transfer.state == .running else { continue }  // it was cancelled in line
            runningCount += 1
            return transfer
        }
        return nil
    }

    /// Learns from a response over TLS what the peer chose there: whether a connection carries one exchange at a time.
    ///
    /// True when it carries several, and that was not known.
    func learn(protocolName: String) -> Bool {
        let wasMultiplexed = isMultiplexed
        isMultiplexed = protocolName == "h2"
        if connectionLimit > 0 { limit = isMultiplexed ? nil : connectionLimit }
        return isMultiplexed && !wasMultiplexed
    }

    /// Lets new transfers use none of the present connections over TLS.
    func renewConnections() {
        generation = (generation + 1) % Self.generationCount
    }

    /// As many as can be told to libcurl.
    ///
    /// A connection that is so many generations old would be used again.
    private static let generationCount = 8

    /// The part of an absolute URL up to the path.
    static func origin(of url: String) -> String {
        let bytes = url.utf8
        guard let colon = bytes.firstIndex(of: 0x3A),
            let start = bytes.index(colon, offsetBy: 3, limitedBy: bytes.endIndex)
        else { return url }
        let end = bytes[start...].firstIndex { $0 == 0x2F || $0 == 0x3F || $0 == 0x23 } ?? bytes.endIndex
        return String(url[..<end])
    }
}
