// The commands that open a connection.

/// Authenticates, agrees on the version of the protocol and selects the database; or asks a sentinel for the primary.
///
/// Pure: replies come in, commands go out.
struct RESPHandshake: Sendable {
    enum Purpose: Sendable, Hashable {
        /// A server that takes commands; behind sentinels its role is checked.
        case server(user: String?, password: String?, database: Int, checksRole: Bool)
        /// A sentinel that knows where the primary of this name is.
        case discovery(primary: String, user: String? = nil, password: String? = nil)
    }

    enum HandshakeAction: Sendable, Equatable {
        case send([RESPArgument])
        case ready
        case discovered(host: String, port: UInt16)
    }

    private enum Phase {
        case hello, authentication, selection, role, discovery
    }

    private let purpose: Purpose
    private var phase: Phase

    init(_ purpose: Purpose) {
        self.purpose = purpose
        switch purpose {
        case .server: phase = .hello
        case .discovery(_, _, let password): phase = password == nil ? .discovery : .authentication
        }
    }

    /// The first command.
    var first: [RESPArgument] {
        switch purpose {
        case .server(let user, let password, _, _):
            guard let password else { return ["HELLO", "3"] }
            return ["HELLO", "3", "AUTH", RESPArgument(user ?? "default"), RESPArgument(password)]
        case .discovery(let primary, let user, let password):
            return password.map { Self.authentication(user, $0) } ?? Self.question(primary)
        }
    }

    private static func authentication(_ user: String?, _ password: String) -> [RESPArgument] {
        (["AUTH"] + (user.map { [$0] } ?? []) + [password]).map { RESPArgument($0) }
    }

    private static func question(_ primary: String) -> [RESPArgument] {
        ["SENTINEL", "get-master-addr-by-name", RESPArgument(primary)]
    }

    /// Handles the reply to the last command; throws an outage (`isOutage`) if the server cannot be used.
    mutating func handle(_ reply: RESPValue) throws(FleetError) -> HandshakeAction {
        do throws(FleetError) {
            return try next(after: reply)
        } catch {
            guard !error.isOutage else { throw error }
            throw .unreachable(reason: "the server refuses the connection: \(error.errorDescription ?? "")")
        }
    }

    private mutating func next(after reply: RESPValue) throws(FleetError) -> HandshakeAction {
        guard case .server(let user, let password, let database, let checksRole) = purpose else {
            return try discover(reply)
        }
        switch phase {
        case .hello:
            // A server sends this error before it reads a command: the error is not a reply to `HELLO`.
            if case .error(let error) = reply, error.message.hasPrefix("max number of clients") {
                throw FleetError(error)
            }
            // Servers before version 6, and servers that are configured for RESP2, refuse `HELLO`: `AUTH` is sent
            // instead.
            if case .error(let error) = reply, error.code == "NOPROTO" || error.code == "ERR", let password {
                phase = .authentication
                return .send(Self.authentication(user, password))
            }
            if case .error(let error) = reply, error.code != "NOPROTO", error.code != "ERR" { throw FleetError(error) }
        case .authentication, .selection:
            if case .error(let error) = reply { throw FleetError(error) }
        case .role:
            if case .error(let error) = reply { throw FleetError(error) }
            // After a failover, a sentinel may name a server that is now a replica.
            guard reply.elements?.first?.text == "master" else { throw .readOnly }
            return .ready
        case .discovery: break
        }
        if phase != .selection, database != 0 {
            phase = .selection
            return .send(["SELECT", RESPArgument(database)])
        }
        guard checksRole else { return .ready }
        phase = .role
        return .send(["ROLE"])
    }

    private mutating func discover(_ reply: RESPValue) throws(FleetError) -> HandshakeAction {
        if case .error(let error) = reply { throw FleetError(error) }
        if phase == .authentication, case .discovery(let primary, _, _) = purpose {
            phase = .discovery
            return .send(Self.question(primary))
        }
        guard let values = reply.elements, values.count == 2, let host = values[0].text, !host.isEmpty,
            let port = values[1].integer.flatMap({ UInt16(exactly: $0) }), port > 0
        else { throw .unreachable(reason: "the sentinel does not know the primary") }
        return .discovered(host: host, port: port)
    }
}
