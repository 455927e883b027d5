// A response cache that the processes of a service share.

public import Fireweed
import FireweedTransport
public import Foundation
import Synchronization

/// Keeps responses in the fleet's Redis or Valkey, for all processes of a service.
///
/// ```swift
/// let fleet = try Fleet(url: "redis://127.0.0.1:6379")
/// let session = Session(options: SessionOptions(asyncResponseStore: FleetCache(fleet: fleet), coalescesRequests: true))
/// ```
/// A response is kept while it is fresh, and for the longer of its windows `stale-while-revalidate` and
/// `stale-if-error` after that (RFC 9111 §4.2, RFC 5861). A look-up costs one round trip, and a second one for large
/// content (more than 64 KiB, all variants together). A response that this process looked up or stored within
/// ``Options/memoryLifetime`` costs none, unless it is larger than an eighth of ``Options/memoryByteCount``.
///
/// When several processes miss the same URL, one of them fetches it, and the others wait. If the fetch takes longer
/// than ``Options/fetchTimeout``, one of the waiting processes fetches too, and the others wait for the first response.
/// A response that was removed while it was being fetched (by an unsafe method, RFC 9111 §4.4, or with all others) is
/// not stored, and neither a fetch nor a 304 replaces a newer response.
///
/// Every failure of the server is a miss: a request waits for a look-up no longer than ``timeout``. Values that another
/// program has written under the cache's keys are misses too.
///
/// Responses with `Cache-Control: private`, and responses without `public` to requests with `Authorization`, cookies or
/// other credentials, are stored only with a ``Options/partition``, and only under keys of that partition.
///
/// With keys, stored responses are encrypted and authenticated with AES-256-GCM, so that the server can neither read
/// nor change them. Without keys, anyone who can read the server can read the responses, and anyone who can write to it
/// can answer requests.
public final class FleetCache: AsyncResponseStore {
    /// The options of a cache.
    public struct Options: Sendable {
        /// An identifier of the user whose private responses are kept; `nil`, the default, keeps no private responses.
        ///
        /// Keys contain only its SHA-256. Caches with different partitions never see each other's private responses;
        /// responses that are not private are shared by all. A request with an unsafe method removes the shared
        /// responses of its URL, and of the private ones only those of its own partition.
        public var partition: String?
        /// Maximum bytes of one response, content and head together; 1 MiB by default.
        public var maximumEntryByteCount = 1 << 20
        /// Whether a stored response answers only requests with the same cookies; true by default.
        ///
        /// - SeeAlso: `ResponseStore.separatesCookies`.
        public var separatesCookies = true
        /// Longest time that other processes wait for one fetch before one of them fetches too; 2 seconds by default.
        ///
        /// With zero, no process waits for another one's fetch. No request waits longer than it would wait for the
        /// origin.
        public var fetchTimeout = Duration.seconds(2)
        /// Maximum bytes of all responses in this process's memory; 4 MiB by default, zero for none.
        public var memoryByteCount = 4 << 20
        /// How long a response in memory answers without a look-up at the server; 1 second by default.
        ///
        /// During this time a process may use a response that another process has removed or replaced.
        public var memoryLifetime = Duration.seconds(1)

        /// Makes the default options.
        public init() {}
    }

    /// The options that the cache was made with.
    public let options: Options
    private let fleet: Fleet
    private let partitionDigest: String?
    /// Encrypts responses; `nil` if they are stored in clear text.
    private let sealingKeys: SealingKeys?
    /// Names this cache as the owner of a claim.
    private let token = RESPArgument("\(UInt64.random(in: 0 ... .max))-\(UInt64.random(in: 0 ... .max))")
    private let memory: Mutex<FleetCacheMemory>
    private let clock = SystemClock()

    /// The first part of every key's purpose, with the version number of the stored format.
    ///
    /// A new format gets a new number: programs with different formats neither see nor remove each other's responses.
    package static let form = "cache3"
    /// Maximum bytes of content, all variants together, that are read with the heads.
    private static let smallContent = 64 << 10
    /// Maximum variants of one URL in a hash.
    private static let variantLimit = 16
    /// Milliseconds for which requests do not wait for a fetch, after a response that could not be shared.
    private static let unsharedMilliseconds = 10_000
    private static let longestLifetime: TimeInterval = 30 * 86_400

    /// Makes a cache on a fleet.
    ///
    /// - Parameters:
    ///   - fleet: where responses are kept.
    ///   - options: partition, bounds and times.
    public convenience init(fleet: Fleet, options: Options = Options()) {
        self.init(fleet, options, nil)
    }

    /// Makes a cache whose responses are encrypted at the server.
    ///
    /// A response that was stored in clear text, or with a key that is not among `keys`, is a miss. The server still
    /// sees how many responses there are, how long they are and when they expire, and could return an older response of
    /// the same URL.
    ///
    /// - Parameters:
    ///   - fleet: where responses are kept.
    ///   - options: partition, bounds and times.
    ///   - keys: keys of 32 secret bytes, which a vault may use too: the first key encrypts, and every key decrypts. To
    ///     rotate keys, give all processes the new key as the last one, then as the first one, then as the only one.
    /// - Throws: `CredentialVaultError.invalidKey` for a key of another length, and for no key.
    public convenience init(
        fleet: Fleet, options: Options = Options(), keys: [Data]
    ) throws(CredentialVaultError) {
        guard let keys = SealingKeys(keys) else { throw .invalidKey }
        self.init(fleet, options, keys)
    }

    private init(_ fleet: Fleet, _ options: Options, _ keys: SealingKeys?) {
        self.fleet = fleet
        self.options = options
        sealingKeys = keys
        partitionDigest = options.partition.map { FleetEntry.digest($0) }
        memory = Mutex(
            FleetCacheMemory(
                byteLimit: options.memoryByteCount, lifetime: options.memoryLifetime))
    }

    /// Maximum bytes of one response, from `Options.maximumEntryByteCount`.
    public var maximumEntryByteCount: Int { options.maximumEntryByteCount }
    /// Whether a stored response answers only requests with the same cookies, from `Options.separatesCookies`.
    public var separatesCookies: Bool { options.separatesCookies }
    /// Longest wait for a look-up: one and a half times the fleet's `Configuration.commandDeadline`.
    ///
    /// A look-up that reaches `commandDeadline` ends and counts as a failure of the server; a look-up that the session
    /// cancels says nothing about the server.
    public var timeout: Duration { fleet.configuration.commandDeadline * 3 / 2 }
    /// Longest wait for another process's fetch, from `Options.fetchTimeout`.
    public var fetchTimeout: Duration { options.fetchTimeout }

    // MARK: Look-ups

    /// Looks up a response in memory, then at the server: one script, and one more command for large content.
    public func lookUp(
        _ key: String, claimsFetch: Bool, choosing choose: @escaping @Sendable ([StoredHead]) -> Int?
    ) async throws -> ResponseLookup {
        do {
            let lookup = try await find(key, claimsFetch: claimsFetch, choosing: choose)
            let isHit = lookup.response != nil
            fleet.counter.change { if isHit { $0.cacheHits += 1 } else { $0.cacheMisses += 1 } }
            return lookup
        } catch {
            fleet.counter.change { $0.cacheMisses += 1 }
            throw error
        }
    }

    private func find(
        _ key: String, claimsFetch: Bool, choosing choose: @escaping @Sendable ([StoredHead]) -> Int?
    ) async throws -> ResponseLookup {
        // Both commands of a look-up share one deadline.
        let end = ContinuousClock.now + fleet.configuration.commandDeadline
        try await fleet.cacheRemovals.complete(
            self.keys(of: key).shared, on: fleet, within: fleet.configuration.commandDeadline)
        let (near, generation) = memory.withLock { memory in
            (memory.responses(for: key, at: clock.monotonicNanoseconds), memory.generation)
        }
        if let near, let index = choose(near.responses.map(\.head)), near.responses.indices.contains(index) {
            return ResponseLookup(response: near.responses[index], revision: near.revision)
        }
        let keys = keys(of: key)
        let claims = claimsFetch && options.fetchTimeout > .zero
        let reply = try await fleet.evaluate(
            FleetCacheScript.look, keys: [keys.shared, keys.own, keys.claim, keys.revision],
            arguments: [
                claims ? token : "", RESPArgument(max(1, options.fetchTimeout.wholeMilliseconds)),
                RESPArgument(Self.smallContent), FleetCacheRemoval.markLife,
            ])
        guard let answer = FleetCacheReply(reply, key: key, shared: seal(keys.shared), own: seal(keys.own)) else {
            throw fleet.unexpectedReply(to: FleetCacheScript.look)
        }
        var lookup = ResponseLookup(revision: answer.revision, fetch: answer.fetch)
        guard let index = choose(answer.entries.map(\.head)), answer.entries.indices.contains(index) else {
            return lookup
        }
        let found = answer.entries[index]
        lookup.fetch = .unclaimed
        lookup.response = try await content(of: found, keys, within: end.timeLeft)
            .map { StoredResponse(head: found.head, content: $0) }
        if let response = lookup.response {
            remember(response, for: key, revision: answer.revision, since: generation)
        }
        return lookup
    }

    /// Waits for the end of another process's claim, polling it every 10 to 100 milliseconds.
    public func waitForFetch(of key: String) async throws {
        let claim = keys(of: key).claim
        var pause = 20
        while true {
            // The server does not report the end of a claim. Random pauses keep processes from polling at the same
            // time.
            try await Task.sleep(for: .milliseconds(Int.random(in: pause / 2...pause)))
            pause = min(pause * 2, 100)
            let owner = try await fleet.command("GET", claim)
            guard !owner.isNull, owner.text != FleetCacheScript.unshared else { return }
        }
    }

    /// Releases the claim, unless another process holds the claim now.
    public func endFetch(of key: String, isShareable: Bool) async throws {
        try await fleet.evaluate(
            FleetCacheScript.endFetch, keys: [keys(of: key).claim],
            arguments: [token, isShareable ? "1" : "0", RESPArgument(Self.unsharedMilliseconds)])
    }

    private func content(
        of found: FleetCacheReply.Entry, _ keys: Keys, within deadline: Duration
    ) async throws -> Data? {
        if let content = found.content { return content }
        let place = found.isShared ? keys.shared : keys.own
        let reply = try await fleet.command("HGET", place, RESPArgument("c\(found.variant)"), deadline: deadline)
        return reply.bytes.flatMap { FleetEntry.content($0, of: found.entry, seal: seal(place)) }
    }

    // MARK: Changes

    /// Stores a response, unless the key was removed since the look-up, or a newer response is stored.
    public func store(_ response: StoredResponse, for key: String, revision: UInt64?) async throws {
        memory.withLock { $0.remove(key) }
        guard Date().timeIntervalSince(response.head.requestTime) < FleetCacheRemoval.memory.inSeconds else { return }
        let keys = keys(of: key)
        try await fleet.cacheRemovals.complete(keys.shared, on: fleet, within: changeDeadline)
        let generation = memory.withLock { $0.generation }
        let isPrivate = isPrivate(response.head)
        let mayBeKept = response.byteCount <= maximumEntryByteCount && (!isPrivate || partitionDigest != nil)
        let (place, other) = isPrivate ? (keys.own, keys.shared) : (keys.shared, keys.own)
        let entry = FleetEntry(head: response.head, contentByteCount: response.content.count)
        let head = mayBeKept ? entry.encoded(for: key, seal: seal(place)) : nil
        let content = mayBeKept ? FleetEntry.encoded(response.content, of: entry, seal: seal(place)) : nil
        let isKept = head != nil && content != nil
        let isStored = try await fleet.evaluate(
            FleetCacheScript.store, keys: [place, other, keys.revision, keys.claim],
            arguments: [
                RESPArgument(FleetEntry.variant(of: response.head)),
                RESPArgument(head ?? []), RESPArgument(content ?? []),
                RESPArgument(entry.tag), RESPArgument(response.head.originDate.milliseconds),
                RESPArgument(response.head.responseTime.milliseconds),
                // With a lifetime of zero, the script only removes the stored response that this response replaces.
                RESPArgument(isKept ? lifetime(of: response.head) : 0),
                RESPArgument(String(revision ?? 0)), RESPArgument(Self.variantLimit),
            ], deadline: changeDeadline)
        // Other processes may be unable to use the response, so their requests do not wait for the next fetch.
        if isPrivate || !isKept { try await endFetch(of: key, isShareable: false) }
        guard isStored.integer == 1 else { return }
        if revision ?? 0 == 0, try await wasOvertaken(response.head) { return try await removeResponses(for: key) }
        remember(response, for: key, revision: revision ?? 0, since: generation)
    }

    /// Whether all responses were removed since a request was sent; needed if the request had no look-up, and so no
    /// revision.
    private func wasOvertaken(_ head: StoredHead) async throws -> Bool {
        let reply = try await fleet.evaluate(
            FleetCacheScript.timeSinceRemoval, keys: [fleet.removalTimeKey], deadline: changeDeadline)
        guard let microseconds = reply.integer, microseconds >= 0 else { return false }
        // Time has passed since the server's reply, so a removal shortly before the request also counts, which is safe.
        return TimeInterval(microseconds) / 1_000_000 <= Date().timeIntervalSince(head.requestTime)
    }

    /// Replaces the head of a response whose content is still stored, unless the stored head is newer.
    public func updateHead(_ head: StoredHead, for key: String) async throws {
        memory.withLock { $0.remove(key) }
        let keys = keys(of: key)
        try await fleet.cacheRemovals.complete(keys.shared, on: fleet, within: changeDeadline)
        // The length 0 is a placeholder: the script takes the content's length from the head that it replaces.
        let entry = FleetEntry(head: head, contentByteCount: 0)
        let lifetime = lifetime(of: head)
        guard let shared = entry.encoded(for: key, seal: seal(keys.shared)),
            let own = entry.encoded(for: key, seal: seal(keys.own))
        else { return }
        try await fleet.evaluate(
            FleetCacheScript.update, keys: [keys.shared, keys.own],
            arguments: [
                RESPArgument(FleetEntry.variant(of: head)), RESPArgument(shared),
                RESPArgument(entry.tag), RESPArgument(head.originDate.milliseconds),
                RESPArgument(head.responseTime.milliseconds), RESPArgument(isPrivate(head) ? 0 : lifetime),
                RESPArgument(lifetime), RESPArgument(own),
            ], deadline: changeDeadline)
    }

    /// Removes the shared responses of a key and those of this cache's partition.
    ///
    /// Responses to requests that were sent before this call are not stored, in any process. A removal that fails is
    /// repeated until it succeeds; until then no cache of this fleet in this process returns the responses.
    public func removeResponses(for key: String) async throws {
        // A concurrent look-up may remember the response before the server removes it: the memory is cleared again
        // afterwards.
        memory.withLock { $0.remove(key) }
        defer { memory.withLock { $0.remove(key) } }
        let keys = keys(of: key)
        let removal = FleetCacheRemoval(shared: keys.shared, own: keys.own, revision: keys.revision)
        try await fleet.cacheRemovals.remove(removal, on: fleet, within: changeDeadline)
    }

    /// Removes all responses of the fleet's namespace, in every partition, by scanning the server's keys.
    ///
    /// Responses to requests that were sent before this call are not stored, in any process.
    public func removeAllResponses() async throws {
        memory.withLock { $0.removeAll() }
        defer { memory.withLock { $0.removeAll() } }
        try await fleet.removeCachedResponses(within: changeDeadline)
    }

    /// The deadline of a change: longer than a look-up's, since no request waits for a change.
    private var changeDeadline: Duration { fleet.configuration.commandDeadline * 10 }

    // MARK: Keys and times

    private struct Keys {
        let shared: RESPArgument
        /// The key of the partition; the same as `shared` without a partition.
        let own: RESPArgument
        let claim: RESPArgument
        let revision: RESPArgument
    }

    private func keys(of key: String) -> Keys {
        let shared = fleet.key(Self.form, key)
        return Keys(
            shared: shared, own: partitionDigest.map { fleet.key("\(Self.form)-\($0)", key) } ?? shared,
            claim: fleet.key("\(Self.form)-fetch", key), revision: fleet.key("\(Self.form)-removed", key))
    }

    private func seal(_ place: RESPArgument) -> FleetSeal? { sealingKeys.map { FleetSeal($0, place: place) } }

    private func isPrivate(_ head: StoredHead) -> Bool {
        if let credentials = head.variant.credentials, !credentials.isEmpty { return true }
        return CacheControl(head.response.value(of: "Cache-Control")).isPrivate
    }

    /// Milliseconds for which a response remains usable from now on: fresh, or stale within a window.
    private func lifetime(of head: StoredHead) -> Int64 {
        let control = CacheControl(head.response.value(of: "Cache-Control"))
        guard !control.noStore else { return 0 }
        let window =
            control.mustRevalidate || control.noCache
            ? 0 : max(control.staleWhileRevalidate ?? 0, control.staleIfError ?? 0)
        let rest = Freshness.lifetime(of: head, control: control) - Freshness.age(of: head, at: Date()) + window
        return Int64(min(max(0, rest), Self.longestLifetime) * 1000)
    }

    private func remember(_ response: StoredResponse, for key: String, revision: UInt64, since generation: UInt64) {
        let now = clock.monotonicNanoseconds
        memory.withLock { $0.add(response, for: key, revision: revision, at: now, since: generation) }
    }
}

extension Date {
    fileprivate var milliseconds: Int64 { Int64(timeIntervalSince1970 * 1000) }
}

extension ContinuousClock.Instant {
    /// The time until this instant, at least one millisecond.
    fileprivate var timeLeft: Duration { max(.milliseconds(1), self - .now) }
}

extension Duration {
    fileprivate var inSeconds: TimeInterval { TimeInterval(wholeMilliseconds) / 1000 }

    fileprivate var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return Int64(clamping: seconds).multipliedReportingOverflow(by: 1000).partialValue
            + attoseconds / 1_000_000_000_000_000
    }
}
