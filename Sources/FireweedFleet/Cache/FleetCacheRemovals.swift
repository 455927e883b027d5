// Removals from the fleet's cache, which are repeated until the server has made them.

import Fireweed
import Synchronization

/// The server's keys that change when a response becomes invalid.
struct FleetCacheRemoval: Sendable, Hashable {
    let shared: RESPArgument
    /// The key of the partition; the same as `shared` without a partition.
    let own: RESPArgument
    let revision: RESPArgument

    /// How long after a removal the responses to earlier requests are rejected; a response that takes longer is not
    /// stored.
    static let memory = Duration.seconds(600)
    /// Milliseconds that a revision is kept: longer than `memory`, since a server may perform a command long after it
    /// was sent.
    static let markLife = RESPArgument((memory * 2).nanosecondCount / 1_000_000)

    /// Removes the responses, and marks the key, on the server.
    func perform(on fleet: Fleet, within deadline: Duration) async throws {
        try await fleet.evaluate(
            FleetCacheScript.remove, keys: [shared, own, revision],
            arguments: [Self.markLife], deadline: deadline)
    }
}

/// Repeats the removals that failed until they succeed, for all caches of a fleet in this process.
///
/// A change at the origin causes only one removal: if it were lost, all processes would serve an invalid response again
/// when the server is back. Until the removal succeeds, no cache of this process uses the server's responses of the
/// key.
final class FleetCacheRemovals: Sendable {
    private struct State {
        var failed = FailedRemovals()
        var isRepeating = false
    }

    private static let firstPause = Duration.milliseconds(50)
    private static let longestPause = Duration.seconds(2)

    private let state = Mutex(State())

    /// Makes a removal; throws if it failed and will be repeated in the background.
    func remove(_ removal: FleetCacheRemoval, on fleet: Fleet, within deadline: Duration) async throws {
        do {
            try await removal.perform(on: fleet, within: deadline)
        } catch {
            // Every failed removal is repeated, even a cancelled one: the server may have made it or not.
            let begins = state.withLock { state in
                state.failed.add(removal)
                defer { state.isRepeating = true }
                return !state.isRepeating
            }
            if begins { beginRepeating(on: fleet) }
            throw error
        }
    }

    /// Repeats the failed removals of a key before the server's responses of the key are used; throws if a removal
    /// fails again, or while everything must be removed first.
    func complete(
        _ shared: @autoclosure () -> RESPArgument, on fleet: Fleet, within deadline: Duration
    ) async throws {
        // Without failed removals, the common case, the digest of the key is not computed.
        guard state.withLock({ !$0.failed.isEmpty }) else { return }
        let shared = shared()
        while let failure = state.withLock({ $0.failed.failure(of: shared) }) {
            guard case .removal(let removal, _) = failure else {
                throw FleetError.unreachable(reason: "everything that the cache has is to be removed first")
            }
            try await removal.perform(on: fleet, within: deadline)
            state.withLock { $0.failed.end(failure) }
        }
    }

    /// Repeats the failed removals in a task, until all have succeeded or the fleet has ended; no request waits for the
    /// task.
    private func beginRepeating(on fleet: Fleet) {
        Task { [weak fleet] in
            var pause = Self.firstPause
            while let failures = self.failures() {
                var (hasFailed, isAway) = (false, false)
                for failure in failures where !isAway {
                    do {
                        guard let fleet else { return }
                        try await Self.perform(failure, on: fleet)
                        self.state.withLock { $0.failed.end(failure) }
                        pause = Self.firstPause
                    } catch FleetError.shutDown {
                        return
                    } catch {
                        (hasFailed, isAway) = (true, !Self.isRefusal(error))
                    }
                }
                guard hasFailed else { continue }
                // Polls, since no server reports that it is back. Nothing cancels this task, so the sleep does not
                // throw.
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, Self.longestPause)
            }
        }
    }

    /// Returns the removals that the server has not made yet; `nil`, which ends the repetition, if there are none.
    private func failures() -> [FailedRemovals.Failure]? {
        state.withLock { state in
            state.isRepeating = !state.failed.isEmpty
            return state.isRepeating ? state.failed.all : nil
        }
    }

    /// Whether the server answered and refused this removal: the other removals are still tried.
    private static func isRefusal(_ error: any Error) -> Bool {
        switch error {
        case FleetError.notPermitted, FleetError.outOfMemory, FleetError.wrongType, FleetError.server,
            FleetError.unexpectedReply:
            true
        default: false
        }
    }

    private static func perform(_ failure: FailedRemovals.Failure, on fleet: Fleet) async throws {
        let deadline = fleet.configuration.commandDeadline * 10
        switch failure {
        case .everything: try await fleet.removeCachedResponses(within: deadline)
        case .removal(let removal, _): try await removal.perform(on: fleet, within: deadline)
        }
    }
}
