// The state machine of credential refreshes.

import Foundation

/// A state machine of an interceptor's credential, the refresh that runs, and the requests that wait for the refresh.
///
/// Pure: the caller passes the time with each event, and performs the answers outside its lock. `Adapt` and `Retry` are
/// the waiting requests, which are only stored here.
struct RefreshState<Credential: Sendable, Adapt: Sendable, Retry: Sendable>: Sendable {
    /// A credential, and its version.
    ///
    /// Credentials cannot be compared: the version shows whether the credential was replaced while user code examined
    /// it.
    struct Held: Sendable {
        var credential: Credential?
        var version = 0
    }

    /// A refresh to be performed.
    struct Refresh: Sendable {
        let number: Int
        let credential: Credential
    }

    private struct Running: Sendable {
        let number: Int
        let version: Int
        var adapts: [Adapt] = []
        var retries: [Retry] = []
    }

    private enum Phase: Sendable {
        case idle
        /// The last refresh failed, and nothing has been adapted since.
        case failed(any Error)
        case refreshing(Running)
    }

    private(set) var held: Held
    private var phase = Phase.idle
    private var history: RefreshHistory
    private var refreshCount = 0

    init(credential: Credential?, limit: RefreshHistory.Limit?) {
        held = Held(credential: credential)
        history = RefreshHistory(limit: limit)
    }

    // MARK: Setting

    /// Sets a credential that does not come from a refresh; the outcome of a refresh that is running is then ignored.
    mutating func set(_ credential: Credential?) {
        held = Held(credential: credential, version: held.version + 1)
        if case .failed = phase { phase = .idle }
    }

    // MARK: Adapting

    enum AdaptAnswer: Sendable {
        case apply(Credential)
        case wait
        case begin(Refresh)
        case fail(AuthenticationError)
        /// The credential was replaced while it was examined: examine the new credential.
        case lookAgain
    }

    /// Decides about a request that is to be adapted.
    ///
    /// `requiresRefresh` is the value that the credential of `version` returned, and `refreshCount` is the number of
    /// refreshes for which the request has waited. Also forgets an earlier failed refresh.
    mutating func adapt(
        _ waiter: @autoclosure () -> Adapt, requiresRefresh: Bool, version: Int, refreshCount: Int = 0,
        now: TimeInterval
    ) -> AdaptAnswer {
        switch phase {
        case .refreshing(var running):
            // The running refresh began because the credential was refused or required a refresh. Other requests must
            // not use that credential, so they wait for the result.
            guard history.allowsRefresh(after: refreshCount) else { return .fail(.excessiveRefresh) }
            running.adapts.append(waiter())
            phase = .refreshing(running)
            return .wait
        case .failed: phase = .idle
        case .idle: break
        }
        guard version == held.version else { return .lookAgain }
        guard let credential = held.credential else { return .fail(.missingCredential) }
        guard requiresRefresh else { return .apply(credential) }
        guard history.allowsRefresh(after: refreshCount),
            let refresh = begin(credential, now: now, { $0.adapts = [waiter()] })
        else {
            return .fail(.excessiveRefresh)
        }
        return .begin(refresh)
    }

    // MARK: Retrying

    enum RetryAnswer: Sendable {
        case retry
        case wait
        case begin(Refresh)
        case fail(any Error)
    }

    /// Decides about a request that failed although it carried the credential of `version`.
    mutating func retry(_ waiter: @autoclosure () -> Retry, version: Int, now: TimeInterval) -> RetryAnswer {
        guard version == held.version else { return .retry }
        guard let credential = held.credential else { return .fail(AuthenticationError.missingCredential) }
        switch phase {
        case .failed(let error): return .fail(error)
        case .refreshing(var running):
            running.retries.append(waiter())
            phase = .refreshing(running)
            return .wait
        case .idle:
            guard let refresh = begin(credential, now: now, { $0.retries = [waiter()] }) else {
                return .fail(AuthenticationError.excessiveRefresh)
            }
            return .begin(refresh)
        }
    }

    // MARK: Refreshing

    private mutating func begin(
        _ credential: Credential, now: TimeInterval, _ admit: (inout Running) -> Void
    ) -> Refresh? {
        guard history.admit(at: now) else { return nil }
        refreshCount += 1
        var running = Running(number: refreshCount, version: held.version)
        admit(&running)
        phase = .refreshing(running)
        return Refresh(number: refreshCount, credential: credential)
    }

    /// The requests that waited for a refresh, and the error with which they fail; without an error they continue with
    /// the current credential.
    struct CompletedRefresh: Sendable {
        let adapts: [Adapt]
        let retries: [Retry]
        let error: (any Error)?
    }

    /// Records the result of a refresh; returns `nil` for a refresh that has already ended.
    mutating func end(_ number: Int, _ result: Result<Credential, any Error>) -> CompletedRefresh? {
        guard case .refreshing(let running) = phase, running.number == number else { return nil }
        phase = .idle
        var failure: (any Error)?
        // A credential that was set during the refresh stays: replacing it with the refreshed credential would undo a
        // logout.
        if running.version == held.version {
            switch result {
            case .success(let credential): held = Held(credential: credential, version: held.version + 1)
            case .failure(let error):
                phase = .failed(error)
                failure = error
            }
        }
        return CompletedRefresh(adapts: running.adapts, retries: running.retries, error: failure)
    }
}

/// The times at which the latest refreshes began, for checking the limit.
struct RefreshHistory: Sendable {
    /// The maximum number of refreshes that may begin within an interval, in seconds.
    struct Limit: Sendable {
        let interval: TimeInterval
        let maximumAttempts: Int
    }

    /// The maximum number of refreshes for which one request waits when no limit is set: a service whose new
    /// credentials always require a refresh would otherwise be asked for ever.
    private static let maximumRefreshCount = 100

    private let limit: Limit?
    private var beginnings: [TimeInterval] = []

    init(limit: Limit?) {
        self.limit = limit
    }

    /// Whether a request that has waited for `count` refreshes may wait for another one.
    func allowsRefresh(after count: Int) -> Bool { limit != nil || count < Self.maximumRefreshCount }

    /// Records a refresh that begins at `now`; when the limit is reached, returns false and records nothing.
    mutating func admit(at now: TimeInterval) -> Bool {
        guard let limit else { return true }
        beginnings.removeAll { $0 < now - limit.interval }
        guard beginnings.count < limit.maximumAttempts else { return false }
        beginnings.append(now)
        return true
    }
}
