// Errors of the fleet's store.

public import Foundation

/// Why a command to Redis or Valkey failed.
///
/// Arrives inside `AFError.requestAdaptationFailed(error:)` if a request cannot continue without the reply.
public enum FleetError: Error, Sendable, Hashable {
    /// The text is not a URL of a server; `reason` says what is wrong.
    case invalidURL(reason: String)
    /// No connection can be made, or the connection was lost before the answer.
    case unreachable(reason: String)
    /// No answer came within the deadline of a command.
    case timedOut(after: Duration)
    /// The circuit breaker is open, after failures in a row: no command is sent for this time.
    case circuitOpen(for: Duration)
    /// The server does not accept the user or the password (`-NOAUTH`, `-WRONGPASS`).
    case notAuthorised(message: String)
    /// The user may not run a command of the fleet, or use its keys (`-NOPERM`).
    case notPermitted(message: String)
    /// The server is still loading its data (`-LOADING`), or waits for its primary (`-MASTERDOWN`).
    case loading
    /// The server runs a script that does not end (`-BUSY`).
    case busy
    /// The server has no memory for what was to be stored (`-OOM`).
    case outOfMemory
    /// The server cannot be written, as after a failover: it is a replica (`-READONLY`), or a primary that has fewer
    /// replicas than it needs (`-NOREPLICAS`).
    case readOnly
    /// The key is on another server of a cluster, or cannot be served now (`-MOVED`, `-ASK`, `-TRYAGAIN`, `-CROSSSLOT`,
    /// `-CLUSTERDOWN`): the fleet does not follow a cluster's redirections.
    case moved(message: String)
    /// A key of ours has a value of another type (`-WRONGTYPE`).
    case wrongType
    /// The server answers with another error.
    case server(code: String, message: String)
    /// The server's bytes are not the protocol, or exceed its limits.
    case malformedReply(reason: String)
    /// The reply, or a stored value, does not have the form that the fleet's own code produces.
    case unexpectedReply(to: String)
    /// Too many bytes wait to be sent: 32 MiB on one connection.
    case overloaded
    /// The fleet was shut down, or this process is a fork of the process that made the fleet.
    case shutDown

    /// The error for an error reply.
    init(_ error: RESPError) {
        switch Self.code(of: error) {
        case "NOAUTH", "WRONGPASS": self = .notAuthorised(message: error.message)
        case "NOPERM": self = .notPermitted(message: error.message)
        case "LOADING", "MASTERDOWN": self = .loading
        case "BUSY": self = .busy
        case "OOM": self = .outOfMemory
        case "READONLY", "NOREPLICAS": self = .readOnly
        case "MOVED", "ASK", "CLUSTERDOWN", "TRYAGAIN", "CROSSSLOT": self = .moved(message: error.message)
        case "WRONGTYPE": self = .wrongType
        default: self = .server(code: error.code, message: error.message)
        }
    }

    /// Returns the code of an error reply; Redis before version 7 wraps the error of a script's command, as `ERR … -OOM
    /// …`.
    private static func code(of error: RESPError) -> String {
        guard error.code == "ERR" else { return error.code }
        let wrapped = error.message.split(separator: " ").first { word in
            word.first == "-" && word.count > 2 && word.dropFirst().allSatisfy { ("A"..."Z").contains($0) }
        }
        return wrapped.map { String($0.dropFirst()) } ?? error.code
    }

    /// Whether the error says that the server cannot do its work: three such errors in a row open the circuit.
    public var isOutage: Bool {
        switch self {
        case .unreachable, .timedOut, .loading, .busy, .readOnly, .malformedReply, .notAuthorised, .moved: true
        case .invalidURL, .circuitOpen, .notPermitted, .outOfMemory, .wrongType, .server, .unexpectedReply, .overloaded,
            .shutDown:
            false
        }
    }
}

extension FleetError: LocalizedError {
    /// What failed, and what to look at.
    public var errorDescription: String? {
        switch self {
        case .invalidURL(let reason): "The URL of the fleet's server cannot be used: \(reason)."
        case .unreachable(let reason): "The fleet's server cannot be reached: \(reason)"
        case .timedOut(let duration): "The fleet's server did not answer within \(duration)."
        case .circuitOpen(let duration): "The fleet's server failed, and gets no command for \(duration)."
        case .notAuthorised(let message): "The fleet's server refuses the user or the password: \(message)"
        case .notPermitted(let message): "The fleet's user may not do what the fleet needs: \(message)"
        case .loading: "The fleet's server is still loading its data."
        case .busy: "The fleet's server runs a script that does not end."
        case .outOfMemory: "The fleet's server is out of memory: raise maxmemory, or choose an eviction policy."
        case .readOnly: "The fleet's server cannot be written: it is a replica, or a primary without enough replicas."
        case .moved(let message): "The key is on another server of a cluster: \(message)"
        case .wrongType: "A key of the fleet has a value of another type: something else uses the same namespace."
        case .server(let code, let message): "The fleet's server answered \(code) \(message)"
        case .malformedReply(let reason): "The fleet's server does not speak the Redis protocol: \(reason)"
        case .unexpectedReply(let command): "The fleet's server gave an answer to \(command) that makes no sense."
        case .overloaded: "Too many bytes wait to be sent to the fleet's server."
        case .shutDown: "The fleet was shut down."
        }
    }
}
