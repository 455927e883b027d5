// A response as it is stored.

public import FireweedTransport
public import Foundation

/// Head and circumstances of a stored response (RFC 9111 §3).
public struct StoredHead: Sendable {
    /// A number that no other stored response has; its content never changes.
    public let identifier: UInt64
    /// Status and fields, without those that belong to a connection.
    public private(set) var response: ResponseHead
    /// When the request was sent that the response answered.
    public private(set) var requestTime: Date
    /// When the response's head came.
    public private(set) var responseTime: Date
    /// When the origin made the response: its `Date`, or `responseTime` without one.
    ///
    /// Kept, since reading a date takes longer than reading everything else.
    public private(set) var originDate: Date
    /// What a request must have in common with the one that was answered.
    public var variant: ResponseVariant
    /// What a `CachedResponseHandler` put into `CachedURLResponse.userInfo`, as a binary property list.
    public var userInfo: Data?

    /// Makes a head with a new identifier.
    public init(
        response: ResponseHead, requestTime: Date, responseTime: Date, variant: ResponseVariant, userInfo: Data? = nil
    ) {
        self.init(
            identifier: .random(in: 0 ... .max), response: response, requestTime: requestTime,
            responseTime: responseTime, originDate: Freshness.originDate(of: response, receivedAt: responseTime),
            variant: variant, userInfo: userInfo)
    }

    /// Makes another head for the content of `old`, that came with the same request.
    public init(replacing old: StoredHead, response: ResponseHead) {
        self = old
        replace(with: response, requestTime: old.requestTime, responseTime: old.responseTime)
    }

    /// The same content's head with other fields, as they came at another time.
    mutating func replace(with response: ResponseHead, requestTime: Date, responseTime: Date) {
        self.response = response
        self.requestTime = requestTime
        self.responseTime = responseTime
        originDate = Freshness.originDate(of: response, receivedAt: responseTime)
    }

    init(
        identifier: UInt64, response: ResponseHead, requestTime: Date, responseTime: Date, originDate: Date,
        variant: ResponseVariant, userInfo: Data?
    ) {
        self.identifier = identifier
        self.response = response
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.originDate = originDate
        self.variant = variant
        self.userInfo = userInfo
    }
}

/// A whole stored response.
public struct StoredResponse: Sendable {
    /// Head and circumstances.
    public var head: StoredHead
    /// The content, any content coding taken off.
    public var content: Data
    /// Whether the response must not reach a disk: `URLCache.StoragePolicy.allowedInMemoryOnly`.
    var isMemoryOnly = false

    /// Makes a response of its parts.
    public init(head: StoredHead, content: Data) {
        self.head = head
        self.content = content
    }

    init(head: StoredHead, content: Data, isMemoryOnly: Bool) {
        self.init(head: head, content: content)
        self.isMemoryOnly = isMemoryOnly
    }

    /// About how many bytes the response needs in a store.
    public var byteCount: Int {
        content.count + head.response.sectionByteCount + (head.userInfo?.count ?? 0) + 256
    }
}
