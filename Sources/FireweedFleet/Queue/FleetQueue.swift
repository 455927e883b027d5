// A work queue that the processes of a fleet share.

import Fireweed
import Foundation

/// A list of items that are distributed among the processes of a fleet, each at least once.
///
/// The items are in a stream with one consumer group, their counts in a hash beside it. An item belongs to the process
/// that took it, as long as that process renews its lease; after that another process takes it. One process at a time
/// adds items. Every operation is one script: if a process is killed, no operation is left half done.
package struct FleetQueue: Sendable {
    /// An item that was taken.
    package struct Item: Sendable, Equatable {
        /// The name of the item in the stream.
        package let id: String
        /// The number of the item in the list, from 1.
        package let index: Int
        package let content: [UInt8]
    }

    /// The progress of the list.
    package struct Progress: Sendable, Equatable {
        /// How many items were added.
        package var addedCount = 0
        /// How many items are finished.
        package var finishedCount = 0
        /// Whether the last item was added.
        package var isComplete = false

        /// Whether nothing is left to do.
        package var isFinished: Bool { isComplete && addedCount == finishedCount }
    }

    /// The result of adding items.
    package struct Addition: Sendable, Equatable {
        /// False when another process adds items.
        package let isOurs: Bool
        package let progress: Progress
        /// The checksum of all items as of the last batch; empty before the first one.
        package let checksum: String
    }

    /// The result of taking items.
    package struct Share: Sendable, Equatable {
        package let items: [Item]
        /// How many of the items were taken over from other processes, whose leases had ended.
        package let reclaimedCount: Int
        package let progress: Progress
    }

    private let fleet: Fleet
    private let streamKey: RESPArgument
    private let stateKey: RESPArgument
    private let consumer: RESPArgument
    private let leaseMilliseconds: Int

    /// Longest time for a command, script and reply included.
    private static let deadline = Duration.seconds(5)

    /// Makes a process's view of a list; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - fleet: provides the connection and the first part of the keys.
    ///   - name: identifies the list.
    ///   - consumer: identifies the process; no two may have the same.
    ///   - lease: how long an item belongs to a process that does not renew it, at least 1 ms.
    package init(fleet: Fleet, name: String, consumer: String, lease: Duration) {
        self.fleet = fleet
        streamKey = fleet.key("queue", name)
        stateKey = fleet.key("queue-state", name)
        self.consumer = RESPArgument(consumer)
        leaseMilliseconds = Int(clamping: max(1, lease.nanosecondCount / 1_000_000))
    }

    private var lease: RESPArgument { RESPArgument(leaseMilliseconds) }

    private func run(_ script: RESPScript, _ arguments: [RESPArgument]) async throws -> RESPValue {
        try await fleet.evaluate(
            script, keys: [streamKey, stateKey], arguments: arguments, deadline: Self.deadline)
    }

    // MARK: Adding

    /// The script of `add`; arguments: process, lease, count and checksum before, checksum after, 1 for the end, items.
    private static let addition = RESPScript(
        """
        local time = redis.call('TIME')
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        local state = redis.call('HMGET', KEYS[2], 'added', 'finished', 'complete', 'checksum', 'owner', 'until')
        local added = tonumber(state[1] or '0')
        local checksum = state[4] or ''
        local function reply(isOurs)
            return {isOurs, added, tonumber(state[2] or '0'), state[3] and 1 or 0, checksum}
        end
        if state[3] then return reply(1) end
        if state[5] and state[5] ~= ARGV[1] and tonumber(state[6]) > now then return reply(0) end
        redis.call('HSET', KEYS[2], 'owner', ARGV[1], 'until', string.format('%.0f', now + ARGV[2]))
        if added ~= tonumber(ARGV[3]) or checksum ~= ARGV[4] then return reply(1) end
        if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('XGROUP', 'CREATE', KEYS[1], 'workers', '0', 'MKSTREAM') end
        for number = 7, #ARGV do
            added = added + 1
            redis.call('XADD', KEYS[1], '*', 'index', added, 'content', ARGV[number])
        end
        checksum = ARGV[5]
        redis.call('HSET', KEYS[2], 'added', added, 'checksum', checksum)
        if ARGV[6] == '1' then
            redis.call('HSET', KEYS[2], 'complete', 1)
            redis.call('HDEL', KEYS[2], 'owner', 'until')
            state[3] = '1'
        end
        return reply(1)
        """)

    /// Appends items, unless the list is complete, another process adds items, or the count or the checksum differs:
    /// then nothing is added.
    ///
    /// The reply says what is in the list now, so that a call whose reply was lost can be repeated without harm. Only
    /// this process may add items until its lease ends.
    ///
    /// - Parameters:
    ///   - items: the items.
    ///   - count: how many items the list must already have.
    ///   - checksum: the checksum of those items, as the last call returned it; empty for none.
    ///   - newChecksum: the checksum of all items including the new ones.
    ///   - isEnd: true for the last items.
    /// - Returns: what is in the list now.
    /// - Throws: `FleetError`; `CancellationError`.
    package func add(
        _ items: [[UInt8]], after count: Int, checksum: String, newChecksum: String, isEnd: Bool
    ) async throws -> Addition {
        let reply = try await run(
            Self.addition,
            [
                consumer, lease, RESPArgument(count), RESPArgument(checksum), RESPArgument(newChecksum),
                isEnd ? "1" : "0",
            ] + items.map { RESPArgument($0) })
        guard let values = reply.elements, values.count == 5, let progress = Progress(values[1...3]),
            let found = values[4].text
        else { throw fleet.unexpectedReply(to: Self.addition) }
        return Addition(isOurs: values[0].integer == 1, progress: progress, checksum: found)
    }

    // MARK: Taking

    /// The script of `take`; arguments: process, lease, count, 1 to look for items with ended leases before new items.
    private static let taking = RESPScript(
        """
        local state = redis.call('HMGET', KEYS[2], 'added', 'finished', 'complete')
        local added, finished = tonumber(state[1] or '0'), tonumber(state[2] or '0')
        local items, reclaimed, count = {}, 0, tonumber(ARGV[3])
        local function reply(length)
            return {items, reclaimed, length, added, finished, state[3] and 1 or 0}
        end
        if state[3] and added == finished then return reply(0) end
        if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('XGROUP', 'CREATE', KEYS[1], 'workers', '0', 'MKSTREAM') end
        local function take(entry)
            if entry and entry[2] then items[#items + 1] = {entry[1], entry[2][2], entry[2][4]} end
        end
        local function reclaim()
            local start = '0-0'
            -- Of an answer that was lost, the items are left by this process itself.
            local own = {}
            local idle = redis.call('XPENDING', KEYS[1], 'workers', 'IDLE', ARGV[2], '-', '+', count, ARGV[1])
            for _, entry in ipairs(idle) do own[entry[1]] = true end
            repeat
                local found = redis.call(
                    'XAUTOCLAIM', KEYS[1], 'workers', ARGV[1], ARGV[2], start, 'COUNT', count - #items)
                start = found[1]
                for _, entry in ipairs(found[2]) do take(entry) end
            until start == '0-0' or #items >= count
            for _, item in ipairs(items) do
                if not own[item[1]] then reclaimed = reclaimed + 1 end
            end
        end
        if ARGV[4] == '1' then reclaim() end
        if #items < count then
            local found = redis.call(
                'XREADGROUP', 'GROUP', 'workers', ARGV[1], 'COUNT', count - #items, 'STREAMS', KEYS[1], '>')
            if found then
                for _, entry in ipairs(found[1][2]) do take(entry) end
            end
        end
        if #items == 0 and ARGV[4] ~= '1' then reclaim() end
        return reply(redis.call('XLEN', KEYS[1]))
        """)

    /// Takes items that no process has, and items whose process has not renewed its lease.
    ///
    /// - Parameters:
    ///   - count: how many at most, from 1.
    ///   - looksForLeftItems: true to look for items with ended leases even if there are new items.
    /// - Returns: the items, perhaps none.
    /// - Throws: `FleetError`, `.unexpectedReply` if items have vanished from the server; `CancellationError`.
    package func take(_ count: Int, looksForLeftItems: Bool) async throws -> Share {
        let reply = try await run(
            Self.taking, [consumer, lease, RESPArgument(max(1, count)), looksForLeftItems ? "1" : "0"])
        guard let values = reply.elements, values.count == 6, let entries = values[0].elements,
            let reclaimedCount = values[1].integer, let length = values[2].integer,
            let progress = Progress(values[3...5])
        else { throw fleet.unexpectedReply(to: Self.taking) }
        let items = entries.compactMap { entry -> Item? in
            guard let parts = entry.elements, parts.count == 3, let id = parts[0].text, let index = parts[1].integer,
                let content = parts[2].bytes
            else { return nil }
            return Item(id: id, index: Int(index), content: content)
        }
        // Every unfinished item must be in the stream.
        guard items.count == entries.count, Int(length) >= progress.addedCount - progress.finishedCount else {
            throw fleet.unexpectedReply(to: Self.taking, from: "XREADGROUP")
        }
        return Share(items: items, reclaimedCount: Int(reclaimedCount), progress: progress)
    }

    // MARK: Finishing

    /// The script of `finish`; arguments: the names of items.
    ///
    /// A finished list is forgotten after seven days.
    private static let finishing = RESPScript(
        """
        local count = 0
        for _, id in ipairs(ARGV) do
            if redis.call('XACK', KEYS[1], 'workers', id) == 1 then
                redis.call('XDEL', KEYS[1], id)
                count = count + 1
            end
        end
        if count > 0 then
            local finished = redis.call('HINCRBY', KEYS[2], 'finished', count)
            local state = redis.call('HMGET', KEYS[2], 'added', 'complete')
            if state[2] and tonumber(state[1]) == finished then
                redis.call('DEL', KEYS[1])
                redis.call('EXPIRE', KEYS[2], 604800)
            end
        end
        return count
        """)

    /// Marks an item as finished, also when another worker has the item now.
    ///
    /// - Returns: false when it was finished before.
    /// - Throws: `FleetError`; `CancellationError`.
    @discardableResult
    package func finish(_ id: String) async throws -> Bool {
        try await run(Self.finishing, [RESPArgument(id)]).integer == 1
    }

    /// The script of `renew` and `giveBack`; arguments: process, the idle time to set in milliseconds, the names of
    /// items.
    private static let renewal = RESPScript(
        """
        if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
        local count = 0
        for number = 3, #ARGV do
            local id = ARGV[number]
            if #redis.call('XPENDING', KEYS[1], 'workers', id, id, 1, ARGV[1]) == 1 then
                redis.call('XCLAIM', KEYS[1], 'workers', ARGV[1], 0, id, 'IDLE', ARGV[2], 'JUSTID')
                count = count + 1
            end
        end
        return count
        """)

    /// Renews the lease of those items that still belong to this process.
    ///
    /// Throws `FleetError` and `CancellationError`.
    package func renew(_ ids: [String]) async throws {
        guard !ids.isEmpty else { return }
        _ = try await run(Self.renewal, [consumer, 0] + ids.map { RESPArgument($0) })
    }

    /// Gives items of this process back, so that other processes can take them immediately.
    ///
    /// Throws `FleetError` and `CancellationError`.
    package func giveBack(_ ids: [String]) async throws {
        guard !ids.isEmpty else { return }
        _ = try await run(Self.renewal, [consumer, lease] + ids.map { RESPArgument($0) })
    }
}

extension FleetQueue.Progress {
    /// Reads the counts of added and finished items, and whether the list is complete.
    fileprivate init?(_ values: ArraySlice<RESPValue>) {
        let numbers = values.compactMap(\.integer)
        guard numbers.count == 3 else { return nil }
        self.init(addedCount: Int(numbers[0]), finishedCount: Int(numbers[1]), isComplete: numbers[2] == 1)
    }
}
