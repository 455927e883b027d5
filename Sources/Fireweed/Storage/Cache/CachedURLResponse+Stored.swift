// Stored responses in Foundation's form, for `URLCache` and for handlers.

import FireweedTransport
import Foundation
import FoundationNetworking

extension StoredResponse {
    /// The key of the stored head in the `userInfo` of a `CachedURLResponse`.
    static let headKey = "Fireweed.head"
    /// The key of the mark of a response that must not reach a disk.
    ///
    /// The policy of the `CachedURLResponse` is not enough: a `URLCache` also gives it to responses in memory that may
    /// reach the disk.
    static let memoryOnlyKey = "Fireweed.memoryOnly"

    /// The response as a ``CachedResponseHandler`` sees it.
    func cachedURLResponse(for url: URL) -> CachedURLResponse? {
        head.response.httpURLResponse(for: url).map { cachedURLResponse(with: $0) }
    }

    /// The response with Foundation's form of its head, as it was received.
    func cachedURLResponse(with response: HTTPURLResponse) -> CachedURLResponse {
        CachedURLResponse(
            response: response, data: content, userInfo: head.decodedUserInfo,
            storagePolicy: isMemoryOnly ? .allowedInMemoryOnly : .allowed)
    }

    /// The response as a handler has changed it; `nil` when the change forbids storing it.
    func replaced(by cached: CachedURLResponse) -> StoredResponse? {
        guard cached.storagePolicy != .notAllowed else { return nil }
        var head = head
        if let response = cached.response as? HTTPURLResponse { head.adopt(response) }
        head.userInfo = StoredHead.encodedUserInfo(cached.userInfo)
        var changed = StoredResponse(head: head, content: cached.data)
        changed.isMemoryOnly = cached.storagePolicy == .allowedInMemoryOnly
        return changed
    }

    /// Reads a response of a `URLCache`, which a session or other code stored.
    ///
    /// `nil` when another version of this library stored it: the variant, and so the user, cannot be read.
    init?(_ cached: CachedURLResponse) {
        guard let response = cached.response as? HTTPURLResponse else { return nil }
        let own = (cached.userInfo?[Self.headKey] as? Data).flatMap { data in
            data.withUnsafeBytes { StoredHead(encoded: $0) }
        }
        guard own != nil || !cached.isOwn else { return nil }
        self.init(head: own ?? StoredHead(foreign: response, cached.userInfo), content: cached.data)
        isMemoryOnly =
            own == nil ? cached.storagePolicy == .allowedInMemoryOnly : cached.userInfo?[Self.memoryOnlyKey] != nil
    }
}

/// A response that this process stored in a `URLCache`, with what `userInfo` encodes: decoding takes longer than the
/// rest of a look-up.
///
/// The memory of a `URLCache` keeps the object; its disk gets the properties of the superclass alone.
final class OwnCachedURLResponse: CachedURLResponse, @unchecked Sendable {
    // SAFETY: the stored properties are `let`s of `Sendable` types.

    let stored: StoredResponse
    /// The key that it is stored under.
    let key: String

    /// `plain` is the same response as a ``CachedResponseHandler`` sees it.
    init(_ stored: StoredResponse, as plain: CachedURLResponse, for key: String) {
        self.stored = stored
        self.key = key
        var userInfo = plain.userInfo ?? [:]
        userInfo[StoredResponse.headKey] = stored.head.encoded
        if stored.isMemoryOnly { userInfo[StoredResponse.memoryOnlyKey] = true }
        super.init(
            response: plain.response, data: plain.data, userInfo: userInfo, storagePolicy: plain.storagePolicy)
    }

    /// The same response, for the memory alone.
    init(inMemory other: OwnCachedURLResponse) {
        stored = other.stored
        key = other.key
        super.init(
            response: other.response, data: other.data, userInfo: other.userInfo,
            storagePolicy: .allowedInMemoryOnly)
    }

    /// Whether both have the same stored response.
    func isCopy(of other: OwnCachedURLResponse) -> Bool {
        stored.head.identifier == other.stored.head.identifier
    }
}

extension CachedURLResponse {
    /// Whether a session of this library, in any version, stored the response.
    var isOwn: Bool { userInfo?[StoredResponse.headKey] != nil }
}

extension StoredHead {
    /// The head of a response that other code stored: only status, fields and `userInfo` are known.
    fileprivate init(foreign response: HTTPURLResponse, _ userInfo: [AnyHashable: Any]?) {
        let head = ResponseHead(status: response.statusCode, fields: response.fieldList)
        let date = head.value(of: "Date").flatMap { HTTPDate.parse($0) } ?? Date(timeIntervalSince1970: 0)
        self.init(
            // A constant, since other code stores no identifier.
            identifier: 0, response: head, requestTime: date, responseTime: date,
            originDate: date, variant: ResponseVariant(names: [], selection: Data(), credentials: Data()),
            userInfo: Self.encodedUserInfo(userInfo))
    }

    /// Takes over status and fields where they differ from the stored ones.
    fileprivate mutating func adopt(_ response: HTTPURLResponse) {
        let changed = response.headers
        let same = self.response.httpURLResponse(for: response.url ?? URL(fileURLWithPath: "/"))
        guard response.statusCode != same?.statusCode || changed != same?.headers else { return }
        replace(
            with: ResponseHead(
                status: response.statusCode, version: self.response.version, fields: response.fieldList),
            requestTime: requestTime, responseTime: responseTime)
    }

    /// `userInfo` as a property list, the only form that can be written to a disk; `nil` when it is empty or has a
    /// value of another kind.
    static func encodedUserInfo(_ userInfo: [AnyHashable: Any]?) -> Data? {
        var named = userInfo as? [String: Any] ?? [:]
        named[StoredResponse.headKey] = nil
        named[StoredResponse.memoryOnlyKey] = nil
        guard !named.isEmpty else { return nil }
        return try? PropertyListSerialization.data(fromPropertyList: named, format: .binary, options: 0)
    }

    /// The values that `encodedUserInfo` encoded.
    var decodedUserInfo: [AnyHashable: Any]? {
        userInfo.flatMap { try? PropertyListSerialization.propertyList(from: $0, format: nil) as? [String: Any] }
    }
}

extension HTTPURLResponse {
    fileprivate var fieldList: [Field] {
        headers.map { Field(name: $0.name, value: $0.value) }
    }
}
