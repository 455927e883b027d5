// A session as a service of a group.

#if ServiceLifecycle
public import Fireweed
public import ServiceLifecycle

/// Drains a session when its group shuts down: requests in flight may end, new requests are refused.
///
/// ```swift
/// let session = Session()
/// let group = ServiceGroup(
///     services: [SessionService(session: session), server], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// A group shuts its services down in reverse order: name the session before the services that send requests with it.
/// The limit of the group (`maximumGracefulShutdownDuration`) has to be longer than the limit of the session.
public struct SessionService: Service {
    /// The session.
    public let session: Session
    /// The longest time that requests may take once the shutdown has begun.
    public let limit: Duration

    /// Makes a service.
    ///
    /// - Parameters:
    ///   - session: the session to end.
    ///   - limit: the longest time that requests may take once the shutdown has begun; 20 seconds by default. The
    ///     requests that are left are then cancelled. Zero or less cancels all requests at once.
    public init(session: Session, drainingWithin limit: Duration = .seconds(20)) {
        self.session = session
        self.limit = limit
    }

    /// Waits for the graceful shutdown of the group, then drains the session (`Session.drain(within:)`).
    ///
    /// Returns when the session has ended; it cannot be used afterwards. When the task is cancelled, before the
    /// shutdown or during the drain, the requests that are left are cancelled at once. Throws nothing.
    public func run() async {
        do {
            try await gracefulShutdown()
        } catch {
            // The task was cancelled: the drain then cancels the requests at once, as if its limit were reached.
        }
        await session.drain(within: limit)
    }
}
#endif
