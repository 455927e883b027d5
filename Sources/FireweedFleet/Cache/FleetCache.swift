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
/// `stale-if-error` after that (RFC 9111 §4.2, RFC 5861). A look costs one round trip, and a second one for content of
/// more than 64 KiB. A response that this process has looked up or stored a moment ago costs none
/// (``Options/memoryLifetime``).
///
/// When several processes miss the same URL, one of them fetches it, and the others wait. Where the fetch takes longer
/// than ``Options/fetchTimeout``, one of those that wait fetches too, and the others wait for both. A response that
/// was removed while it was being fetched (by an unsafe method, RFC 9111 §4.4, or with all others) is not stored, and
/// neither a fetch nor a 304 replaces a newer response.
///
/// Whatever is wrong with the server is a miss: no request waits for longer than the fleet's
/// `Configuration.commandDeadline`. So are values under the cache's keys that another program has written.
///
/// Responses with `Cache-Control: private`, and responses without `public` to requests with `Authorization`, cookies or
/// other credentials, are stored only with a ``Options/partition``, under keys of that partition alone.
///
/// With keys, stored responses are encrypted and authenticated with AES-256-GCM, so that the server neither reads nor
/// changes them. Without keys, who can read the server can read the responses, and who can write it can answer
/// requests.
public final class FleetCache: AsyncResponseStore {
    /// What a cache is made with.
    public struct Options: Sendable {
        /// For whom private responses are kept, such as an identifier of the user; `nil`, the default, keeps none.
        ///
        /// Keys have only the SHA-256 of it. Caches with different partitions never see each other's private responses;
        /// responses that are not private are shared by all. An unsafe method removes the private responses of its own
        /// partition alone.
        public var partition: String?
        /// The bytes that one response may have at most, content and head together; 1 MiB by default.
        public var maximumEntryByteCount = 1 << 20
        /// Whether a stored response answers only requests with the same cookies; true by default.
        ///
        /// - SeeAlso: `ResponseStore.separatesCookies`.
        public var separatesCookies = true
        /// Longest time for which others wait for one fetch before one of them fetches too; 2 seconds by default.
        ///
        /// Zero lets each process fetch on its own. No request waits longer than it would wait for the origin.
        public var fetchTimeout = Duration.seconds(2)
        /// The bytes that responses in this process's memory may have together; 4 MiB by default, zero for none.
        public var memoryByteCount = 4 << 20
        /// For how long a response in memory answers without a look at the server; 1 second by default.
        ///
        /// For so long a process may use a response that another process has removed or replaced.
        public var memoryLifetime = Duration.seconds(1)

        /// Makes the default options.
        public init() {}
    }

    /// What the cache was made with.
    public let options: Options
    private let fleet: Fleet
    private let partitionDigest: String?
    /// What encrypts responses; `nil` where they are stored in clear text.
    private let sealingKeys: SealingKeys?
    /// Names this cache as the owner of a claim.
    private let token = RESPArgument("\(UInt64.random(in: 0 ... .max))-\(UInt64.random(in: 0 ... .max))")
    private let memory: Mutex<FleetCacheMemory>
    private let clock = SystemClock()

    /// Begins the purpose of every key, with the number of the form in which responses are kept.
    ///
    /// Another form has another number: programs of two versions neither see nor remove each other's responses.
    package static let form = "cache3"
    /// Contents up to this size are read together with the heads.
    private static let smallContent = 64 << 10
    /// Variants that one URL may have.
    private static let variantLimit = 16
    /// Milliseconds for which requests do not wait after a response that was not for others.
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
    /// What was stored in clear text, or with a key that is not among `keys`, is a miss. The server still sees how many
    /// responses there are, how long they are and when they end, and could give back an older response of the same URL.
    ///
    /// - Parameters:
    ///   - fleet: where responses are kept.
    ///   - options: partition, bounds and times.
    ///   - keys: keys of 32 secret bytes, which a vault may have too: the first encrypts, and every one decrypts. To
    ///     replace a key, give all processes the new one as the last, then as the first, then alone.
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

    /// `Options.maximumEntryByteCount`.
    public var maximumEntryByteCount: Int { options.maximumEntryByteCount }
    /// `Options.separatesCookies`.
    public var separatesCookies: Bool { options.separatesCookies }
    /// A half more than the fleet's `Configuration.commandDeadline`.
    ///
    /// A look ends after `commandDeadline`, and counts as a failure of the server then; a look that is ended from
    /// outside says nothing about the server.
    public var timeout: Duration { fleet.configuration.commandDeadline * 3 / 2 }
    /// `Options.fetchTimeout`.
    public var fetchTimeout: Duration { options.fetchTimeout }

    // MARK: Looks

    /// Looks into memory, then at the server: one script, and one more command for large content.
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
        // Both commands of a look have one deadline together.
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

    /// Waits for the end of another process's claim, with a look at it every 20 to 100 milliseconds.
    public func waitForFetch(of key: String) async throws {
        let claim = keys(of: key).claim
        var pause = 20
        while true {
            // The server reports no end of a claim. Random pauses keep the processes apart.
            try await Task.sleep(for: .milliseconds(Int.random(in: pause / 2...pause)))
            pause = min(pause * 2, 100)
            let owner = try await fleet.command("GET", claim)
            guard !owner.isNull, owner.text != FleetCacheScript.unshared else { return }
        }
    }

    /// Gives the claim back, unless it is another process's by now.
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

    /// Stores a response, unless the key was removed since the look, or there is a newer response.
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
                // Without a lifetime, the response only removes what it replaces.
                RESPArgument(isKept ? lifetime(of: response.head) : 0),
                RESPArgument(String(revision ?? 0)), RESPArgument(Self.variantLimit),
            ], deadline: changeDeadline)
        // Another process may not find it: requests there need not wait.
        if isPrivate || !isKept { try await endFetch(of: key, isShareable: false) }
        guard isStored.integer == 1 else { return }
        if revision ?? 0 == 0, try await wasOvertaken(response.head) { return try await removeResponses(for: key) }
        remember(response, for: key, revision: revision ?? 0, since: generation)
    }

    /// Whether everything was removed since a request was sent, which no look preceded: it has no revision.
    private func wasOvertaken(_ head: StoredHead) async throws -> Bool {
        let reply = try await fleet.evaluate(
            FleetCacheScript.timeSinceRemoval, keys: [fleet.removalTimeKey], deadline: changeDeadline)
        guard let microseconds = reply.integer, microseconds >= 0 else { return false }
        // The server answered before now: a removal just before the request counts too.
        return TimeInterval(microseconds) / 1_000_000 <= Date().timeIntervalSince(head.requestTime)
    }

    /// Stores another head for a content that is still there, unless its head is newer.
    public func updateHead(_ head: StoredHead, for key: String) async throws {
        memory.withLock { $0.remove(key) }
        let keys = keys(of: key)
        try await fleet.cacheRemovals.complete(keys.shared, on: fleet, within: changeDeadline)
        // The script takes the content's length from the head that it replaces.
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
    /// Responses to requests that were sent before this call are not stored, by whichever process. A removal that fails
    /// is repeated until the server is back; until then no cache of the fleet in this process gives the responses.
    public func removeResponses(for key: String) async throws {
        // A look beside this call may find the response before the server removes it: the memory is emptied twice.
        memory.withLock { $0.remove(key) }
        defer { memory.withLock { $0.remove(key) } }
        let keys = keys(of: key)
        let removal = FleetCacheRemoval(shared: keys.shared, own: keys.own, revision: keys.revision)
        try await fleet.cacheRemovals.remove(removal, on: fleet, within: changeDeadline)
    }

    /// Removes all responses of the fleet's namespace, those of every partition too; takes scans of the server's keys.
    ///
    /// Responses to requests that were sent before this call are not stored, by whichever process.
    public func removeAllResponses() async throws {
        memory.withLock { $0.removeAll() }
        defer { memory.withLock { $0.removeAll() } }
        try await fleet.removeCachedResponses(within: changeDeadline)
    }

    /// No request waits for a change.
    private var changeDeadline: Duration { fleet.configuration.commandDeadline * 10 }

    // MARK: Keys and times

    private struct Keys {
        let shared: RESPArgument
        /// Of the partition; the same as `shared` without one.
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

    /// Milliseconds for which a response is of use from now on: fresh, or stale within a window.
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
    /// A millisecond at least.
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
