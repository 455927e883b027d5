// The run of `fireweed fetch`: the requests of a list.

import CommandLanguage
import Fireweed
import Foundation
import Synchronization

/// Makes the requests of a list, several concurrently, and writes a record of each request.
///
/// One loop handles all events: it reads lines while few items wait, and begins requests while the limits allow it. A
/// request counts as running until its record is written, so that a slow reader slows the run down.
struct FetchRunner: Sendable {
    private let invocation: Invocation
    /// The run's own list; `nil` for a run that only takes items of a shared list.
    private let input: FetchInput?
    /// The shared list; `nil` without `--fleet`.
    private let fleet: FetchFleet?
    private let results: FetchResults
    private let exchange: FetchExchange
    private let defaults: FetchDefaults
    private let sign = StopSign()

    /// Set once requests are cancelled because their records cannot be written.
    private final class StopSign: Sendable {
        let isSet = Atomic(false)
    }

    /// Opens the list and the files; throws `UsageError` and `OutputError`.
    init(_ invocation: Invocation) throws {
        self.invocation = invocation
        let hasInput = invocation.fleetURL == nil || !invocation.urlPatterns.isEmpty || invocation.listFile != nil
        input = hasInput ? try FetchInput(invocation) : nil
        let plan = try FetchExchange.plan(invocation)
        defaults = FetchDefaults(invocation, headers: plan.headers)
        fleet = try invocation.fleetURL.map { [defaults] in try FetchFleet(url: $0, invocation, defaults: defaults) }
        var exchange = try FetchExchange(invocation, plan: plan, fleet: fleet?.fleet)
        if let folder = invocation.saveFolder { try Self.make(folder) }
        results = try FetchResults(invocation)
        exchange.replacesFiles = invocation.goesOn && results.continuesRun
        self.exchange = exchange
    }

    private static func make(_ folder: String) throws {
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), !isFolder.boolValue {
            throw OutputError(errorDescription: "the folder \(folder) cannot be made: a file is there")
        }
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw OutputError(errorDescription: "the folder \(folder) cannot be made: \(error.plainText)")
        }
        guard FileManager.default.isWritableFile(atPath: folder) else {
            throw OutputError(errorDescription: "the folder \(folder) cannot be written to: that is not permitted")
        }
    }

    /// The events of the loop.
    private enum Event: Sendable {
        case read(FetchInput.Answer)
        case taken(FetchFleet.Answer)
        /// The run's own list could not be added to the shared one.
        case failedToAdd(String)
        case finished(FetchItem, isFailure: Bool)
        /// The request was cancelled: it has no record, and is made again by the next run.
        case abandoned(FetchItem)
        case failedToWrite(FetchItem, FetchResults.Answer)
        case interrupted
    }

    /// The state of the loop.
    private struct State {
        var queue: FetchQueue
        var progress = FetchProgress()
        var lineCount = 0
        var isReading = false
        var hasEnded = false
        /// The reason for which no more requests begin; `nil` while requests may begin.
        var end: End?

        enum End { case interrupted, readerGone, failure(String) }

        var isOver: Bool { end == nil ? hasEnded && queue.isEmpty : queue.runningCount == 0 }
    }

    /// Runs to the end of the list.
    func run() async -> ExitCode {
        if let failure = await fleet?.failureToConnect() {
            Terminal.tell("fireweed: \(failure)\n")
            return .network
        }
        let (events, continuation) = AsyncStream<Event>.makeStream()
        let interruption = Interruption { [session = exchange.session, fleet] in
            fleet?.stop()
            session.cancelAllRequests()
            continuation.yield(.interrupted)
        }
        let isSilent = invocation.isQuiet || invocation.isVerbose
        let draws = Terminal.canDraw && !isSilent && !(Terminal.isOutput && invocation.outputFile == nil)
        var meter = FetchMeter()
        let limit = invocation.jobCount
        // With a fleet, fewer items wait here, since other runs cannot take waiting items.
        var state = State(
            queue: FetchQueue(
                limit: limit, originLimit: invocation.originLimit ?? limit, waitingLimit: fleet.map { _ in limit }))
        if draws, fleet == nil { state.progress.total = input?.count() }
        // Tasks run on the session's event loop, so that a request, its record and the next request need no thread hop.
        // With `--save` they run elsewhere, since writing to the disk may block.
        await withTaskExecutorPreference(invocation.saveFolder == nil ? exchange.session.executor : nil) {
            await withDiscardingTaskGroup { group in
                share(&group, continuation)
                begin(&state, &group, continuation, interruption)
                for await event in events {
                    handle(event, &state)
                    begin(&state, &group, continuation, interruption)
                    if draws { meter.show(state.progress) }
                    if state.isOver { break }
                }
                group.cancelAll()
            }
        }
        meter.end()
        await fleet?.end()
        return finish(state, interruption.code)
    }

    /// Starts the tasks that add the run's own list to the shared one, and renew the lease of taken items.
    private func share(_ group: inout DiscardingTaskGroup, _ events: AsyncStream<Event>.Continuation) {
        guard let fleet else { return }
        group.addTask { await fleet.renew() }
        guard let input else { return }
        group.addTask {
            if let failure = await fleet.add(input) { events.yield(.failedToAdd(failure)) }
        }
    }

    /// Begins the requests that may run, and reads more items if there is room.
    private func begin(
        _ state: inout State, _ group: inout DiscardingTaskGroup, _ events: AsyncStream<Event>.Continuation,
        _ interruption: Interruption
    ) {
        // After a signal, or once the run is to end, no further request begins and no item is read.
        guard state.end == nil, interruption.code == nil else { return }
        while let item = state.queue.next() {
            group.addTask { [self] in events.yield(await finish(item, interruption)) }
        }
        state.progress.running = state.queue.runningCount
        let room = state.queue.room
        guard !state.isReading, !state.hasEnded, room > 0 else { return }
        state.isReading = true
        if let fleet {
            group.addTask { [results] in events.yield(.taken(await fleet.next(room, finished: results.finished))) }
        } else {
            input?.read { events.yield(.read($0)) }
        }
    }

    /// Makes the request of an item, and writes its record.
    private func finish(_ item: FetchItem, _ interruption: Interruption) async -> Event {
        let record = await exchange.record(of: item)
        let isStopped = interruption.code != nil || sign.isSet.load(ordering: .acquiring)
        if isStopped, record.error != nil { return .abandoned(item) }
        let answer = await results.write(
            record.line, index: item.index, key: item.key, isFailure: record.error != nil)
        guard case .written = answer else { return .failedToWrite(item, answer) }
        if let failure = await fleet?.finish(item) { return .failedToWrite(item, .failure(failure)) }
        return .finished(item, isFailure: record.error != nil)
    }

    private func handle(_ event: Event, _ state: inout State) {
        switch event {
        case .read(.lines(let lines)):
            state.isReading = false
            for line in lines { add(line, &state) }
        case .taken(.items(let items, let earlierCount)):
            state.isReading = false
            state.lineCount += items.count + earlierCount
            state.progress.finished += earlierCount
            state.progress.earlier += earlierCount
            for item in items { state.queue.append(item) }
        case .read(.end), .taken(.end):
            (state.isReading, state.hasEnded) = (false, true)
        case .read(.failure(let message)), .taken(.failure(let message)), .failedToAdd(let message):
            stop(&state, .failure(message))
        case .finished(let item, let isFailure):
            state.queue.finish(item)
            state.progress.finished += 1
            if isFailure { state.progress.failed += 1 }
        case .abandoned(let item):
            state.queue.finish(item)
            // This event may arrive before the event `interrupted`.
            stop(&state, .interrupted)
        case .failedToWrite(let item, let answer):
            state.queue.finish(item)
            sign.isSet.store(true, ordering: .releasing)
            exchange.session.cancelAllRequests()
            if case .failure(let message) = answer {
                stop(&state, .failure(message))
            } else {
                stop(&state, .readerGone)
            }
        case .interrupted:
            // Cancels again: requests may have begun while the signal's handler was cancelling.
            exchange.session.cancelAllRequests()
            stop(&state, .interrupted)
        }
    }

    private func add(_ line: FetchLine, _ state: inout State) {
        state.lineCount += 1
        let item = FetchItem(index: state.lineCount, line: line, defaults: defaults)
        if results.finished.contains(item) {
            state.progress.finished += 1
            state.progress.earlier += 1
        } else {
            state.queue.append(item)
        }
    }

    /// Lets no more requests begin; keeps the first reason.
    private func stop(_ state: inout State, _ end: State.End) {
        if state.end == nil { state.end = end }
    }

    private func finish(_ state: State, _ signal: ExitCode?) -> ExitCode {
        let progress = state.progress
        let failures = [results.finish(), exchange.keep()].compactMap(\.self)
        for failure in failures { Terminal.tell("fireweed: \(failure)\n") }
        switch state.end {
        case .interrupted:
            let way =
                fleet != nil
                ? "; the other runs of the queue go on"
                : isResumable ? "; the same command with --continue resumes" : ""
            Terminal.tell("fireweed: interrupted with \(progress.finished) finished\(way)\n")
            return signal ?? .interrupted
        case .readerGone: return .failure
        case .failure(let message):
            Terminal.tell("fireweed: \(message)\n")
            return .failure
        case nil: break
        }
        if !invocation.isQuiet { tell(state) }
        if progress.failed > 0 {
            let count = progress.finished - progress.earlier
            Terminal.tell("fireweed: \(progress.failed) of \(count) failed; their records have the error\n")
        } else if progress.earlier > 0, progress.earlier == progress.finished, !invocation.isQuiet {
            Terminal.tell("fireweed: all \(progress.earlier) were finished before\n")
        }
        return progress.failed > 0 || !failures.isEmpty ? .failure : .success
    }

    /// Reports an empty list, and items that other runs have also handled.
    private func tell(_ state: State) {
        if state.lineCount == 0 {
            Terminal.tell(fleet == nil ? "fireweed: the list is empty\n" : "fireweed: nothing was left to do\n")
        }
        guard let counts = fleet?.counts, counts != FetchFleet.Counts() else { return }
        Terminal.tell(
            "fireweed: \(counts.reclaimed) items came from runs that had stopped, "
                + "and \(counts.repeated) have a record of another run too\n")
    }

    private var isResumable: Bool {
        invocation.journalFile != nil || invocation.outputFile != nil && !invocation.writesToStandardOutput
    }
}
