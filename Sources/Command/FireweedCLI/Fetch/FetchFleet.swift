// The part of `fireweed fetch` that shares a list with other machines.

import CommandLanguage
import Fireweed
import FireweedFleet
import FireweedTransport
import Foundation
import Glibc
import Synchronization

/// A run's part in a list that several runs of `fireweed fetch` share: takes items, and marks them as finished.
///
/// After the server has answered once, transient errors are retried until the run is interrupted.
final class FetchFleet: Sendable {
    /// The result of taking items.
    enum Answer: Sendable {
        /// Items, perhaps none, and the number of further items whose records this run's file already has.
        case items([FetchItem], earlierCount: Int)
        case end
        case failure(String)
    }

    /// Numbers that the run reports at its end.
    struct Counts: Sendable, Equatable {
        /// Items that this run took over from other runs, which had not finished them.
        var reclaimed = 0
        /// Items that another run has finished before this run did.
        var repeated = 0
    }

    private struct State {
        /// The ids of the items that this run has taken and not finished.
        var held: Set<String> = []
        var counts = Counts()
        var lastLook = ContinuousClock.now
        var hasComplained = false
    }

    let fleet: Fleet
    private let queue: FleetQueue
    private let lease: Duration
    private let defaults: FetchDefaults
    private let state = Mutex(State())
    private let isStopped = Atomic(false)

    /// The delay before a run sends a command to the server again.
    private static let pause = Duration.milliseconds(200)
    /// A run adds no more items while the shared list has this number of unfinished items, or more.
    private static let backlog = 10_000

    /// Prepares this run to share the list.
    ///
    /// - Parameters:
    ///   - url: the server.
    ///   - invocation: the command line, with the list's name and the lease.
    ///   - defaults: the command line's settings for every request.
    /// - Throws: `UsageError` if the URL is not that of a Redis or Valkey server.
    init(url: String, _ invocation: Invocation, defaults: FetchDefaults) throws {
        var configuration = Fleet.Configuration()
        configuration.commandDeadline = .seconds(2)
        do {
            fleet = try Fleet(url: url, configuration: configuration)
        } catch {
            throw UsageError(message: "--fleet: \(error.plainText)")
        }
        lease = .seconds(invocation.leaseSeconds)
        queue = FleetQueue(
            fleet: fleet, name: invocation.queueName ?? "", consumer: "\(getpid())-\(UUID.random().uuidString)",
            lease: lease)
        self.defaults = defaults
    }

    var counts: Counts { state.withLock { $0.counts } }

    /// Ends the retries of commands to the server.
    func stop() { isStopped.store(true, ordering: .releasing) }

    /// Tests the connection; returns the failure in words, `nil` if the server answers.
    func failureToConnect() async -> String? {
        do {
            try await fleet.command("PING", deadline: .seconds(5))
            return nil
        } catch {
            return error.plainText
        }
    }

    /// Calls `body`, and repeats the call after transient errors until `stop()` is called; throws all other errors.
    private func persist<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        while true {
            do {
                let value = try await body()
                state.withLock { $0.hasComplained = false }
                return value
            } catch let error as FleetError where Self.passes(error) {
                guard !isStopped.load(ordering: .acquiring) else { throw error }
                let isFirst = state.withLock { state in
                    defer { state.hasComplained = true }
                    return !state.hasComplained
                }
                if isFirst { Terminal.tell("fireweed: \(error.plainText) It is tried again.\n") }
                try await Task.sleep(for: Self.pause)
            }
        }
    }

    private static func passes(_ error: FleetError) -> Bool {
        switch error {
        case .unreachable, .timedOut, .circuitOpen, .loading, .busy, .readOnly, .outOfMemory, .overloaded: true
        default: false
        }
    }

    // MARK: Working

    /// Takes up to `count` items; waits until there are items, or the list is finished.
    ///
    /// Items in `finished` need no request: an earlier run was killed after it had written their records.
    func next(_ count: Int, finished: FetchJournal) async -> Answer {
        do {
            while true {
                let share = try await persist { try await queue.take(count, looksForLeftItems: looks()) }
                let new = state.withLock { state in
                    state.counts.reclaimed += share.reclaimedCount
                    return share.items.filter { state.held.insert($0.id).inserted }
                }
                if !new.isEmpty { return try await sorted(new, finished) }
                if share.progress.isFinished { return .end }
                try await Task.sleep(for: Self.pause)
            }
        } catch is CancellationError {
            return .end
        } catch {
            return .failure(Self.words(error))
        }
    }

    /// Whether to look for items that other runs have left: true once in each half of a lease.
    private func looks() -> Bool {
        state.withLock { state in
            let now = ContinuousClock.now
            guard now - state.lastLook > lease / 2 else { return false }
            state.lastLook = now
            return true
        }
    }

    private func sorted(_ entries: [FleetQueue.Item], _ finished: FetchJournal) async throws -> Answer {
        var items: [FetchItem] = []
        var earlierCount = 0
        for entry in entries {
            var item = FetchItem(index: entry.index, line: FetchLine(entry: entry.content), defaults: defaults)
            item.entry = entry.id
            if finished.contains(item) {
                try await noteFinished(entry.id)
                earlierCount += 1
            } else {
                items.append(item)
            }
        }
        return .items(items, earlierCount: earlierCount)
    }

    /// Marks an item as finished; returns the failure in words, `nil` on success.
    func finish(_ item: FetchItem) async -> String? {
        guard let id = item.entry else { return nil }
        do {
            try await noteFinished(id)
            return nil
        } catch {
            return Self.words(error)
        }
    }

    private func noteFinished(_ id: String) async throws {
        var attemptCount = 0
        let isFirst = try await persist {
            attemptCount += 1
            return try await queue.finish(id)
        }
        state.withLock { state in
            state.held.remove(id)
            // If the reply to an earlier attempt was lost, this run itself may have finished the item.
            if !isFirst, attemptCount == 1 { state.counts.repeated += 1 }
        }
    }

    /// Renews the lease of this run's items, until the task is cancelled.
    func renew() async {
        while !Task.isCancelled {
            let ids = state.withLock { Array($0.held) }
            try? await queue.renew(ids)
            try? await Task.sleep(for: lease / 3)
        }
    }

    /// Gives unfinished items back, so that other runs can take them before the lease expires, and shuts the fleet
    /// down.
    func end() async {
        let ids = state.withLock { Array($0.held) }
        // If the server cannot be reached, other runs take these items when the lease expires.
        try? await queue.giveBack(ids)
        fleet.shutDown()
    }

    // MARK: Adding

    /// Adds the lines of a list, unless another run adds them; returns the failure in words, `nil` if there is none.
    ///
    /// A run that continues a killed run has the same list. The lines that the queue already has are compared with the
    /// list, and the lines after them are added.
    func add(_ input: FetchInput) async -> String? {
        var position = FetchPosition()
        do {
            while let lines = try await lines(of: input) {
                guard try await add(lines.map(\.entry), isEnd: false, &position) else { return nil }
            }
            _ = try await add([], isEnd: true, &position)
            return nil
        } catch is CancellationError {
            return nil
        } catch {
            return Self.words(error)
        }
    }

    /// Returns the next lines; `nil` at the end; throws `OutputError` and `CancellationError`.
    private func lines(of input: FetchInput) async throws -> [FetchLine]? {
        // Waits on a stream, which ends when the task is cancelled; a read from a pipe may block for longer.
        let (answers, continuation) = AsyncStream<FetchInput.Answer>.makeStream()
        input.read {
            continuation.yield($0)
            continuation.finish()
        }
        switch await answers.first(where: { _ in true }) {
        case .lines(let lines)?: return lines
        case .end?: return nil
        case .failure(let message)?: throw OutputError(errorDescription: message)
        case nil: throw CancellationError()
        }
    }

    /// Adds a batch when it is this run's turn, and waits for room in the list; returns false if the list was already
    /// complete.
    private func add(_ batch: [[UInt8]], isEnd: Bool, _ position: inout FetchPosition) async throws -> Bool {
        var batch = batch[...]
        // Lines that the queue is known to have are not sent.
        position.skip(&batch)
        guard !batch.isEmpty || isEnd else { return true }
        while true {
            let (current, next) = (position, position.advanced(by: batch))
            let items = Array(batch)
            let reply = try await persist {
                try await queue.add(
                    items, after: current.count, checksum: current.checksum, newChecksum: next.checksum, isEnd: isEnd)
            }
            if reply.progress.isComplete { return isEnd }
            guard reply.isOurs else {
                try await Task.sleep(for: min(.seconds(1), lease / 2))
                continue
            }
            position.known = reply.progress.addedCount
            position.knownChecksum = reply.checksum
            let fitted = position.fits
            position.skip(&batch)
            // If the position does not fit, the queue has another list. With `isEnd`, a queue of the same list would be
            // complete, and this method would have returned above.
            guard fitted, position.fits, !isEnd else {
                throw OutputError(errorDescription: "it was begun with another list; another --queue begins anew")
            }
            if batch.isEmpty {
                if reply.progress.addedCount - reply.progress.finishedCount < Self.backlog { return true }
                try await Task.sleep(for: Self.pause)
            }
        }
    }

    private static func words(_ error: any Error) -> String {
        "the shared list cannot be used: \(error.plainText)"
    }
}

/// A run's position in its list, and the part of the list that the queue is known to have; pure.
struct FetchPosition: Sendable, Equatable {
    /// The number of lines of the list before this position.
    private(set) var count = 0
    /// The checksum of the lines before this position; empty without such lines.
    private(set) var checksum = ""
    /// The number of lines that the queue is known to have, and their checksum.
    var known = 0
    var knownChecksum = ""

    /// Whether the queue can have been filled from the same list.
    var fits: Bool { count < known || count == known && checksum == knownChecksum }

    /// Drops the first lines of a batch that the queue already has.
    mutating func skip(_ batch: inout ArraySlice<[UInt8]>) {
        while count < known, let line = batch.popFirst() { pass(line) }
    }

    private mutating func pass(_ line: [UInt8]) {
        count += 1
        checksum = String(FetchItem.hash(Array(checksum.utf8) + line), radix: 16)
    }

    /// Returns the position after a batch.
    func advanced(by batch: ArraySlice<[UInt8]>) -> FetchPosition {
        var copy = self
        for line in batch { copy.pass(line) }
        return copy
    }
}

extension FetchLine {
    private static let wholeMark = UInt8(ascii: "=")
    private static let beginningMark = UInt8(ascii: "<")

    /// The line in the queue's form: a mark, then the bytes.
    var entry: [UInt8] {
        switch self {
        case .text(let bytes): [Self.wholeMark] + bytes
        case .tooLong(let bytes): [Self.beginningMark] + bytes
        }
    }

    /// Makes a line from the queue's form.
    init(entry: [UInt8]) {
        let bytes = Array(entry.dropFirst())
        self = entry.first == Self.beginningMark ? .tooLong(bytes) : .text(bytes)
    }
}
