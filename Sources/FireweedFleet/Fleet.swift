// The connection between the processes of a service.

public import Fireweed
public import FireweedTransport
import Foundation
import Synchronization

/// Connects the processes of a service that share one Redis or Valkey: one token, one rate limit and one cache for all.
///
/// ```swift
/// let fleet = try Fleet(url: "redis://127.0.0.1:6379")
/// let session = Session(interceptor: fleet.rateLimiter(RateLimit(100, per: .seconds(1))))
/// ```
/// No connection is made before the first command. A request waits for a failing server for at most
/// `Configuration.commandDeadline`; a limiter waits once for up to a second. After three failures in a row the circuit
/// opens for a second; while the server still fails, this time doubles, up to 4 seconds. `Configuration.eventHandler`
/// is notified when the circuit opens and closes, and when the server answers but does not do the work, such as a
/// server without memory. The limiter, the vault and the cache each document what happens to requests in that time.
public final class Fleet: Sendable {
    /// The configuration of a fleet.
    public struct Configuration: Sendable {
        /// The first part of all keys; services with different names share nothing.
        ///
        /// Default: `fireweed`. Braces are removed; all other characters are allowed.
        public var namespace = "fireweed"
        /// How many processes share the limits; while the server cannot be used, each process uses its share.
        ///
        /// Default: 1. Zero or less means 1.
        public var fleetSize = 1
        /// Longest time for a command that a request waits for, including connecting.
        ///
        /// A limiter waits up to ten times as long for its slots, but no longer than a second, unless this deadline is
        /// longer. Default: 100 ms.
        public var commandDeadline = Duration.milliseconds(100)
        /// The password for the sentinels of a `redis+sentinel` URL; the user and the password in the URL are the
        /// primary's.
        ///
        /// Default: `nil`, sentinels without a password. A password without a user is sentinel's `requirepass`.
        public var sentinelPassword: String?
        /// The user for the sentinels; has an effect with `sentinelPassword`.
        ///
        /// Default: `nil`, the default user.
        public var sentinelUser: String?
        /// Decides whether to trust a server that is reached over TLS; `nil`, the default, uses the authorities of
        /// `transportOptions`.
        public var serverTrustManager: ServerTrustManager?
        /// Options of the transport: authorities, client identity, TLS versions, addresses and number of event loops.
        ///
        /// Each event loop has a separate connection. Options of HTTP have no effect.
        public var transportOptions = TransportOptions()
        /// Called for each event, on any thread, one call at a time and in order; it must not block.
        ///
        /// Default: `nil`.
        public var eventHandler: (@Sendable (FleetEvent) -> Void)?

        /// Makes the default configuration.
        public init() {}
    }

    /// The configuration that the fleet was made with.
    public let configuration: Configuration
    private let connections: [RESPConnection]
    private let connector: ByteConnector
    private let health: ServerHealth
    let counter = FleetCounter()
    /// Removals of cached responses that failed, and are repeated.
    let cacheRemovals = FleetCacheRemovals()
    private let turn = Atomic<UInt>(0)
    private let clock = SystemClock()

    /// Makes a fleet; no connection is made yet.
    ///
    /// - Parameters:
    ///   - url: `redis://[[user]:password@]host[:port][/database]`, `rediss://…` for TLS,
    ///     `redis+unix:///path/of/socket[?db=number]`, or
    ///     `redis+sentinel://[user:password@]host[:port],…/primary[/db]`, where the sentinels say which server is the
    ///     primary; user and password are the primary's; those of the sentinels are in `Configuration.sentinelUser` and
    ///     `Configuration.sentinelPassword`. User, password and path are percent-encoded.
    ///   - configuration: names, limits and trust.
    /// - Throws: `FleetError.invalidURL(reason:)`.
    public init(url: String, configuration: Configuration = Configuration()) throws(FleetError) {
        var endpoint = try FleetEndpoint(url)
        endpoint.sentinelUser = configuration.sentinelUser
        endpoint.sentinelPassword = configuration.sentinelPassword
        let connector = ByteConnector(
            options: configuration.transportOptions,
            trustRules: configuration.serverTrustManager?.transportRules)
        self.configuration = configuration
        self.connector = connector
        health = ServerHealth(handler: configuration.eventHandler, counter: counter)
        let overdue = TimedOutReplies()
        connections = (0..<max(1, connector.loopCount)).map {
            RESPConnection(
                to: endpoint, connector: connector, loop: $0, limits: RESPParser.Limits(), overdue: overdue)
        }
    }

    /// Closes the connections; pending and later commands fail with `FleetError.shutDown`.
    ///
    /// A later command fails with `circuitOpen` while the circuit is open, and with `timedOut` while a reply is
    /// overdue.
    public func shutDown() {
        for connection in connections { connection.close() }
    }

    /// Whether the circuit breaker is open or probing; false while the server only refuses some commands.
    public var isDegraded: Bool {
        if case .closed = health.stage { false } else { true }
    }

    /// Cache hits, cache misses and degradations since the fleet was made.
    public var counts: FleetCounts { counter.counts }

    // MARK: Commands

    /// Sends one command and returns its reply.
    ///
    /// Commands of all tasks share a connection for each event loop and are pipelined: a command is sent immediately,
    /// and commands of one task are sent in order. Nothing is sent twice, so that a failed command may or may not have
    /// been performed. Cancelling the task ends the wait at once with `CancellationError`.
    ///
    /// ```swift
    /// let stored = try await fleet.command("GET", "\(key)").bytes  // nil for none
    /// try await fleet.command("SET", "\(key)", RESPArgument(data), "PX", 60_000)
    /// ```
    /// - Parameters:
    ///   - arguments: the name of the command and its arguments; keys come from `key(_:_:)`.
    ///   - deadline: longest time for the reply; `nil` for `Configuration.commandDeadline`.
    /// - Returns: the reply, never an error reply; an array may contain one.
    /// - Throws: `FleetError`, with `circuitOpen` immediately while the circuit is open; `CancellationError`.
    @discardableResult
    package func command(_ arguments: RESPArgument..., deadline: Duration? = nil) async throws -> RESPValue {
        try await command(arguments, deadline: deadline)
    }

    /// Sends one command, given as an array; the rest is as in `command(_:deadline:)`.
    @discardableResult
    package func command(_ arguments: [RESPArgument], deadline: Duration? = nil) async throws -> RESPValue {
        try await timedCommand(arguments, name: arguments.first ?? "", deadline: deadline).value
    }

    /// Sends a command, even while the circuit is open if `asksAlways`; refusals are recorded under `name`.
    private func timedCommand(
        _ arguments: [RESPArgument], name: RESPArgument, deadline: Duration?, asksAlways: Bool = false
    ) async throws -> RESPReply {
        let start = clock.monotonicNanoseconds
        var isAdmitted = true
        if case .refuse(let nanoseconds) = health.admit(at: start) {
            guard asksAlways else {
                throw FleetError.circuitOpen(for: .nanoseconds(Int64(clamping: nanoseconds)))
            }
            isAdmitted = false
        }
        let reply: RESPReply
        do {
            reply = try await nextConnection().reply(
                to: arguments, within: deadline ?? configuration.commandDeadline)
        } catch {
            // A command that was not admitted is sent while the circuit is open: its failure must not lengthen the
            // circuit's pause.
            if isAdmitted { note(error, since: start) }
            throw error
        }
        let now = clock.monotonicNanoseconds
        guard case .error(let answer) = reply.value else {
            health.succeeded(name, at: now)
            return reply
        }
        let error = FleetError(answer)
        if error.isOutage {
            if isAdmitted { health.failed(name, at: now, since: start, with: error) }
        } else if answer.code == "NOSCRIPT", arguments.first == "EVALSHA" {
            // `NOSCRIPT` is neither a success nor a refusal: the caller sends the whole script next.
            health.answered(at: now)
        } else {
            health.refused(name, at: now, with: error)
        }
        throw error
    }

    /// Records that a script sent an invalid reply; returns the error to throw.
    func unexpectedReply(to script: RESPScript, from command: String = "EVALSHA") -> FleetError {
        unexpectedReply(to: command, noted: RESPArgument(script.digest))
    }

    /// Records an invalid reply to a command, under `name`, or under the command for `nil`; returns the error to throw.
    func unexpectedReply(to command: String, noted name: RESPArgument? = nil) -> FleetError {
        let error = FleetError.unexpectedReply(to: command)
        health.refused(name ?? RESPArgument(command), at: clock.monotonicNanoseconds, with: error)
        return error
    }

    /// Runs a script on the server by its digest, or sends the whole script if the server does not know the digest.
    ///
    /// No other command runs during a script. The rest is as in `command(_:deadline:)`.
    ///
    /// With `asksAlways`, the script is sent even while the circuit is open.
    @discardableResult
    package func evaluate(
        _ script: RESPScript, keys: [RESPArgument], arguments: [RESPArgument] = [], deadline: Duration? = nil,
        asksAlways: Bool = false
    ) async throws -> RESPValue {
        try await timedEvaluate(
            script, keys: keys, arguments: arguments, deadline: deadline, asksAlways: asksAlways
        ).value
    }

    /// Runs a script as `evaluate(_:keys:arguments:deadline:)` does, and also returns when the reply arrived.
    func timedEvaluate(
        _ script: RESPScript, keys: [RESPArgument], arguments: [RESPArgument], deadline: Duration? = nil,
        asksAlways: Bool = false
    ) async throws -> RESPReply {
        let rest = [RESPArgument(keys.count)] + keys + arguments
        let limit = deadline ?? configuration.commandDeadline
        let start = clock.monotonicNanoseconds
        let name = RESPArgument(script.digest)
        do {
            return try await timedCommand(
                ["EVALSHA", name] + rest, name: name, deadline: limit, asksAlways: asksAlways)
        } catch FleetError.server(code: "NOSCRIPT", _) {
            // `EVALSHA` and `EVAL` share one deadline.
            let elapsed = Duration.nanoseconds(Int64(clamping: clock.monotonicNanoseconds - start))
            return try await timedCommand(
                ["EVAL", RESPArgument(script.source)] + rest, name: name,
                deadline: max(.milliseconds(1), limit - elapsed), asksAlways: asksAlways)
        }
    }

    /// Makes a key from the namespace, the purpose of the key, and the SHA-256 of a name.
    ///
    /// The digest is in braces, a hash tag: a cluster keeps all keys of one name on one server, whatever their purpose.
    package func key(_ purpose: String, _ name: String) -> RESPArgument {
        let prefix = "\(configuration.namespace):\(purpose)".filter { $0 != "{" && $0 != "}" }
        return RESPArgument("\(prefix):{\(Hash.sha256.hexadecimalDigest(of: name))}")
    }

    private func nextConnection() -> RESPConnection {
        guard connections.count > 1 else { return connections[0] }
        if let index = connector.currentLoop { return connections[index] }
        return connections[Int(turn.wrappingAdd(1, ordering: .relaxed).newValue % UInt(connections.count))]
    }

    // MARK: Degradation

    /// Notes the failure of a command that got no reply.
    private func note(_ error: any Error, since start: UInt64) {
        let now = clock.monotonicNanoseconds
        switch error {
        case FleetError.timedOut(let limit):
            // The command may have failed without being sent, because another reply is overdue: it counts as sent one
            // deadline ago.
            let sent = now - min(now, limit.wholeNanoseconds)
            health.failed(at: now, since: start, sentAt: sent, with: .timedOut(after: limit))
        case let error as FleetError where error.isOutage: health.failed(at: now, since: start, with: error)
        default: health.abandoned(since: start)
        }
    }
}

/// Something that happened to a fleet.
public enum FleetEvent: Sendable {
    /// The server failed three times in a row, or again after a pause: the circuit is open for this time.
    ///
    /// With a pause of zero the server answers, but does not do the work of a command: for example, it is out of
    /// memory, the user may not run the command, the server cannot be written, a key has a value of another type, a
    /// script fails, or a reply makes no sense. Commands are still sent; if one is refused, the limiter, the vault and
    /// the cache act as without a server. Reported once, until `recovered(after:)`.
    case degraded(FleetError, pause: Duration)
    /// The server does its work again, this long after it was first reported as degraded.
    case recovered(after: Duration)
}
