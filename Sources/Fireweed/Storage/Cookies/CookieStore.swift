// The cookies of one `HTTPCookieStorage`, for the sessions that share it.

import CLinux
import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Glibc
import Synchronization

/// Keeps an index of a storage's cookies, and writes the cookies of responses to the storage.
///
/// Foundation's storage copies all of its cookies for every query, and on Linux it posts no notification when one
/// changes (Swift 6.3, measured). So the index compares itself with the storage: before each request while the storage
/// holds at most 32 cookies, else at most once in an interval of one microsecond for each cookie. Cookies that other
/// code puts into the storage are sent after that time at the latest; cookies of responses are sent immediately.
///
/// A storage with a file writes all of it for each cookie that changes, which takes 90 ms with 100 cookies. So the
/// storage is written on a queue of its own, a few cookies of each response at a time, and requests are answered from
/// the index meanwhile.
final class CookieStore: @unchecked Sendable {
    // SAFETY: the storage synchronises itself; everything else is constant or behind the `Mutex`.
    let storage: HTTPCookieStorage
    private let queue = DispatchQueue(label: "fireweed.cookies")
    private let state = Mutex(State())

    /// A cached `Cookie` field; valid until a cookie changes.
    private struct MadeField {
        let base: FieldBlock
        /// The fields with the `Cookie` field; `nil` when there are no cookies for the URL.
        let block: FieldBlock?
        /// The time at which the first of these cookies expires.
        let validUntil: Date?
    }

    private struct State {
        var index = CookieIndex()
        /// The cached fields by URL.
        var made: [String: MadeField] = [:]
        /// The cookies of the storage at the last comparison: the objects, in its order.
        var snapshot: [HTTPCookie] = []
        /// Whether our own writes came after the snapshot: the storage may equal the snapshot again when other code
        /// undoes them.
        var isSnapshotOutdated = false
        var askedAt: UInt64 = 0
        /// The number of the latest comparison or change: a comparison is out of date if it began before the last
        /// change, or before a comparison that has ended.
        var tickets = 0
        var latest = 0
        /// The number of responses whose cookies are being written.
        var writingCount = 0
        var file: CookieFileWriter?
    }

    private static let writtenAtOnce = 4
    private static let alwaysAskedCount = 32
    private static let maximumMadeCount = 256

    // MARK: One for each storage

    private struct Reference {
        weak var store: CookieStore?
    }

    private static let stores = Mutex<[ObjectIdentifier: Reference]>([:])

    /// The store of a storage: the same one for all sessions that share the storage.
    static func of(_ storage: HTTPCookieStorage) -> CookieStore {
        stores.withLock { stores in
            let key = ObjectIdentifier(storage)
            if let store = stores[key]?.store { return store }
            stores = stores.filter { $0.value.store != nil }
            let made = CookieStore(storage)
            stores[key] = Reference(store: made)
            return made
        }
    }

    private init(_ storage: HTTPCookieStorage) {
        self.storage = storage
    }

    /// Makes the store write the file after each response that changes cookies.
    func attach(_ file: CookieFileWriter) {
        state.withLock { $0.file = file }
    }

    // MARK: Sending

    /// `base` with a `Cookie` field; `nil` when there are no cookies for the URL, or `base` has a `Cookie` field of its
    /// own, unless `keepsOwn` sends its value after the cookies.
    func fields(
        adding base: FieldBlock, for url: URL, text: String, keepsOwn: Bool = false,
        now: @autoclosure () -> Date = Date()
    ) -> FieldBlock? {
        compareWithStorage()
        let (isEmpty, made) = state.withLock { ($0.index.isEmpty, $0.made[text]) }
        if isEmpty { return nil }
        let now = now()
        if let made, made.base === base, made.validUntil.map({ $0 > now }) ?? true { return made.block }
        let own = base.fields.filter { $0.name.isEqualIgnoringASCIICase("Cookie") }.map(\.value)
        guard own.isEmpty || keepsOwn, let host = url.host.map(CanonicalHost.identity) else { return nil }
        let (path, isSecure) = (CookieRules.requestPath(of: url), url.scheme?.lowercased() == "https")
        return state.withLock { state in
            let cookies = state.index.cookies(forHost: host, path: path, isSecure: isSecure, now: now)
            let block = Self.field(of: cookies, before: own).map { field in
                guard !own.isEmpty else { return FieldBlock(base, adding: [field]) }
                return FieldBlock(base.fields.filter { !$0.name.isEqualIgnoringASCIICase("Cookie") } + [field])
            }
            if state.made.count >= Self.maximumMadeCount { state.made = [:] }
            state.made[text] = MadeField(
                base: base, block: block, validUntil: cookies.compactMap(\.expires).min())
            return block
        }
    }

    /// The `Cookie` field of cookies and of `others`, which are values of such fields; `nil` without cookies.
    private static func field(of found: [IndexedCookie], before others: [String]) -> Field? {
        // Other code may put anything into a storage: a cookie that could forge a field is never sent.
        let cookies = found.filter { $0.text.staysInLine }
        guard !cookies.isEmpty else { return nil }
        var field = Field(name: "Cookie", value: (cookies.map(\.text) + others).joined(separator: "; "))
        if cookies.contains(where: { $0.octets != nil }) {
            let octets = cookies.map { $0.octets ?? Array($0.text.utf8) } + others.map { Array($0.utf8) }
            field.octets = Array(octets.joined(separator: Array("; ".utf8)))
        }
        return field
    }

    private func compareWithStorage() {
        let ticket = state.withLock { state -> Int? in
            guard state.writingCount == 0 else { return nil }
            let now = fw_clock_nanoseconds(CLOCK_MONOTONIC)
            let count = state.snapshot.count
            guard count <= Self.alwaysAskedCount || now &- state.askedAt >= UInt64(count) * 1_000 else { return nil }
            state.askedAt = now
            state.tickets += 1
            return state.tickets
        }
        guard let ticket else { return }
        let cookies = storage.cookies ?? []
        state.withLock { state in
            guard state.writingCount == 0, ticket > state.latest else { return }
            state.latest = ticket
            let isSame =
                !state.isSnapshotOutdated && cookies.count == state.snapshot.count
                && zip(cookies, state.snapshot).allSatisfy { $0 === $1 }
            guard !isSame else { return }
            state.isSnapshotOutdated = false
            state.snapshot = cookies
            if state.index.replaceAll(with: cookies) { state.made = [:] }
        }
    }

    // MARK: Storing

    /// Adds the cookies of one response; requests that begin from now on send them.
    ///
    /// - Parameters:
    ///   - cookies: the cookies of the response, in the order of its fields.
    ///   - isSecure: whether the response came over TLS.
    ///   - now: the session's time.
    ///   - completion: called once when the cookies are in the storage and in its file: immediately when nothing
    ///     changes, else on a queue of the store.
    func add(
        _ cookies: [HTTPCookie], isSecure: Bool, now: Date = Date(), completion: @escaping @Sendable () -> Void
    ) {
        compareWithStorage()
        let changes = state.withLock { state -> [CookieIndex.Change] in
            let changes = state.index.add(cookies, isSecure: isSecure, now: now)
            guard !changes.isEmpty else { return [] }
            state.made = [:]
            state.writingCount += 1
            state.tickets += 1
            state.latest = state.tickets
            return changes
        }
        guard !changes.isEmpty else { return completion() }
        queue.async { [self] in write(changes[...], completion) }
    }

    /// Writes some of the changes, then lets other responses write before the rest.
    private func write(_ changes: ArraySlice<CookieIndex.Change>, _ completion: @escaping @Sendable () -> Void) {
        for change in changes.prefix(Self.writtenAtOnce) { write(change) }
        let rest = changes.dropFirst(Self.writtenAtOnce)
        guard rest.isEmpty else { return queue.async { [self] in write(rest, completion) } }
        let file = state.withLock { state in
            state.writingCount -= 1
            state.tickets += 1
            state.latest = state.tickets
            state.isSnapshotOutdated = true
            return state.file
        }
        file?.saveChanges(of: storage)
        completion()
    }

    /// Writes one change, unless another response has changed the same cookie since.
    private func write(_ change: CookieIndex.Change) {
        switch change {
        case .set(let cookie):
            if state.withLock({ $0.index.contains(cookie) }) { storage.setCookie(cookie) }
        case .delete(let cookie):
            if !state.withLock({ $0.index.containsOne(like: cookie) }) { storage.deleteCookie(cookie) }
        }
    }
}
