// The connection between the processes of a service.

public import Fireweed
public import FireweedTransport
import Foundation
import Synchronization

/// The processes of a service that share one Redis or Valkey: one token, one rate limit and one cache for all.
///
/// ```swift
/// let fleet = try Fleet(url: "redis://127.0.0.1:6379")
/// let session = Session(interceptor: fleet.rateLimiter(RateLimit(100, per: .seconds(1))))
/// ```
/// No connection is made before the first command. A server that fails is not waited for longer than
/// `Configuration.commandDeadline`, or by a limiter for a second, once: after three failures in a row it is left alone
/// for a second, then, as long as it fails, for twice the time, up to 4 seconds; `Configuration.eventHandler` is
/// notified of both changes. The handler is also notified of a server that answers and does not do the work, such as a
/// full one. What becomes of requests meanwhile is said by each part: the limiter, the vault and the cache.
public final class Fleet: Sendable {
    /// What a fleet is made with.
    public struct Configuration: Sendable {
        /// The first part of all keys; services with different names share nothing.
        ///
        /// Default: `fireweed`. It may have any characters but braces, which are removed.
        public var namespace = "fireweed"
        /// How many processes share the limits: what a process may use alone while the server is away.
        ///
        /// Default: 1. Zero or less means 1.
        public var fleetSize = 1
        /// Longest time that a command may take, connecting included.
        ///
        /// A limiter waits up to ten times as long for its slots, but for no more than a second.
        /// Default: 100 ms.
        public var commandDeadline = Duration.milliseconds(100)
        /// The user and the password for the sentinels of a `redis+sentinel` URL, whose own are the primary's.
        ///
        /// Default: `nil`, sentinels without a password. A password without a user is sentinel's `requirepass`.
        public var sentinelPassword: String?
        /// The user for the sentinels; has an effect with `sentinelPassword`.
        ///
        /// Default: `nil`, the default user.
        public var sentinelUser: String?
        /// Decides whether the server of a `rediss` URL is trusted; `nil`, the default, leaves it to the authorities of
        /// `transportOptions`.
        public var serverTrustManager: ServerTrustManager?
        /// The authorities, the client identity, the versions of TLS, the addresses and the number of event loops.
        ///
        /// Each event loop has a connection of its own. Options of HTTP have no effect.
        public var transportOptions = TransportOptions()
        /// Called when something happens that somebody may want to know, on any thread, in order; it must not wait.
        ///
        /// Default: `nil`.
        public var eventHandler: (@Sendable (FleetEvent) -> Void)?

        /// Makes the default configuration.
        public init() {}
    }

    /// What the fleet was made with.
    public let configuration: Configuration
    private let connections: [RESPConnection]
    private let connector: ByteConnector
    private let health: ServerHealth
    let counter = FleetCounter()
    /// The removals of caches that the server has not made yet.
    let cacheRemovals = FleetCacheRemovals()
    private let turn = Atomic<UInt>(0)
    private let clock = SystemClock()

    /// Makes a fleet; no connection is made yet.
    ///
    /// - Parameters:
    ///   - url: `redis://[[user]:password@]host[:port][/database]`, `rediss://…` for TLS,
    ///     `redis+unix:///path/of/socket[?db=number]`, or
    ///     `redis+sentinel://[user:password@]host[:port],…/primary[/db]`, where the sentinels say which server is the
    ///     primary; user and password are the primary's, and those of the sentinels are in
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

    /// Closes the connections; every later command fails with `FleetError.shutDown`.
    public func shutDown() {
        for connection in connections { connection.close() }
    }

    /// Whether the server is left alone at the moment.
    public var isDegraded: Bool {
        if case .closed = health.stage { false } else { true }
    }

    /// How often caches found something, and how often the server failed, since the fleet was made.
    public var counts: FleetCounts { counter.counts }

    // MARK: Commands

    /// Sends one command and returns its reply.
    ///
    /// Commands of all tasks share a connection for each event loop and are pipelined: a command is sent as soon as it
    /// is given, and commands of one task come in their order. Nothing is sent twice, so that a command that fails may
    /// have been performed or not. Cancelling the task ends the wait at once with `CancellationError`.
    ///
    /// ```swift
    /// let stored = try await fleet.command("GET", "\(key)").bytes  // nil for none
    /// try await fleet.command("SET", "\(key)", RESPArgument(data), "PX", 60_000)
    /// ```
    /// - Parameters:
    ///   - arguments: the name of the command and its arguments; keys come from `key(_:_:)`.
    ///   - deadline: longest time for the reply; `nil` for `Configuration.commandDeadline`.
    /// - Returns: the reply, never an error reply; inside of an array there may be one.
    /// - Throws: `FleetError`, at once when the server is left alone; `CancellationError`.
    @discardableResult
    package func command(_ arguments: RESPArgument..., deadline: Duration? = nil) async throws -> RESPValue {
        try await command(arguments, deadline: deadline)
    }

    /// Sends one command, given as an array; the rest is as in `command(_:deadline:)`.
    @discardableResult
    package func command(_ arguments: [RESPArgument], deadline: Duration? = nil) async throws -> RESPValue {
        try await timedCommand(arguments, name: arguments.first ?? "", deadline: deadline).value
    }

    /// Sends a command; `name` is what its refusals are noted under.
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
            // A failure that was expected makes no pause longer.
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
            // The script is sent whole.
            health.answered(at: now)
        } else {
            health.refused(name, at: now, with: error)
        }
        throw error
    }

    /// Notes that a script's reply is not what the script gives; returns the error to throw.
    func unexpectedReply(to script: RESPScript, from command: String = "EVALSHA") -> FleetError {
        unexpectedReply(to: command, noted: RESPArgument(script.digest))
    }

    /// Notes that the reply to a command is none of that command, under the command's name; returns the error to throw.
    func unexpectedReply(to command: String, noted name: RESPArgument? = nil) -> FleetError {
        let error = FleetError.unexpectedReply(to: command)
        health.refused(name ?? RESPArgument(command), at: clock.monotonicNanoseconds, with: error)
        return error
    }

    /// Runs a script on the server: by its digest, and whole when the server does not know it.
    ///
    /// A script is performed as a whole or not at all. The rest is as in `command(_:deadline:)`.
    ///
    /// `asksAlways` sends it to a server that is left alone too.
    @discardableResult
    package func evaluate(
        _ script: RESPScript, keys: [RESPArgument], arguments: [RESPArgument] = [], deadline: Duration? = nil,
        asksAlways: Bool = false
    ) async throws -> RESPValue {
        try await timedEvaluate(
            script, keys: keys, arguments: arguments, deadline: deadline, asksAlways: asksAlways
        ).value
    }

    /// Runs a script as `evaluate(_:keys:arguments:deadline:)` does, and says when the reply arrived.
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
            // Both commands together have the one deadline.
            let elapsed = Duration.nanoseconds(Int64(clamping: clock.monotonicNanoseconds - start))
            return try await timedCommand(
                ["EVAL", RESPArgument(script.source)] + rest, name: name,
                deadline: max(.milliseconds(1), limit - elapsed), asksAlways: asksAlways)
        }
    }

    /// The key of something: the namespace, what the key is for, and a name of which the key has only the SHA-256.
    ///
    /// The digest is in braces: all keys of one name are on one server of a cluster, whatever they are for.
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
            // A command that was not sent, since a reply is overdue, is like one that was sent a deadline ago.
            let sent = now - min(now, limit.wholeNanoseconds)
            health.failed(at: now, since: start, sentAt: sent, with: .timedOut(after: limit))
        case let error as FleetError where error.isOutage: health.failed(at: now, since: start, with: error)
        default: health.abandoned(since: start)
        }
    }
}

/// Something that happened to a fleet.
public enum FleetEvent: Sendable {
    /// The server failed three times in a row, or again after a pause: it is left alone for this time.
    ///
    /// With a pause of zero the server answers, and does not do the work of a command: it is out of memory, the user
    /// may not run the command, the server cannot be written, a key has a value of another type, a script fails, or an
    /// answer makes no sense. It is still asked; the limiter, the vault and the cache do as without it. Reported once,
    /// until `recovered(after:)`.
    case degraded(FleetError, pause: Duration)
    /// The server answers again, after so long.
    case recovered(after: Duration)
}
