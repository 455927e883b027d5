// A stored response and its head.

public import FireweedTransport
public import Foundation

/// The head of a stored response, with its times and its variant (RFC 9111 §3).
public struct StoredHead: Sendable {
    /// The identity of the stored response: the content for one identifier never changes.
    public let identifier: UInt64
    /// Status and fields, without the fields that belong to a connection.
    public private(set) var response: ResponseHead
    /// The time at which the request for this response was sent.
    public private(set) var requestTime: Date
    /// The time at which the response's head was received.
    public private(set) var responseTime: Date
    /// The time at which the origin made the response: its `Date`, or `responseTime` without a `Date`.
    ///
    /// Stored, since parsing a date takes longer than reading everything else.
    public private(set) var originDate: Date
    /// The properties that a request must share with the answered request.
    public var variant: ResponseVariant
    /// The `CachedURLResponse.userInfo` that a ``CachedResponseHandler`` set, as a binary property list.
    public var userInfo: Data?

    /// Makes a head with a new identifier.
    ///
    /// - Parameters:
    ///   - response: status and fields.
    ///   - requestTime: when the request was sent.
    ///   - responseTime: when the head of the response was received.
    ///   - variant: the properties that a request must share with the answered request.
    ///   - userInfo: a binary property list of a ``CachedResponseHandler``; `nil`, the default, for none.
    public init(
        response: ResponseHead, requestTime: Date, responseTime: Date, variant: ResponseVariant, userInfo: Data? = nil
    ) {
        self.init(
            identifier: .random(in: 0 ... .max), response: response, requestTime: requestTime,
            responseTime: responseTime, originDate: Freshness.originDate(of: response, receivedAt: responseTime),
            variant: variant, userInfo: userInfo)
    }

    /// Makes another head for the content of `old`, with the same request and times.
    ///
    /// - Parameters:
    ///   - old: the head that is replaced.
    ///   - response: the new status and fields.
    public init(replacing old: StoredHead, response: ResponseHead) {
        self = old
        replace(with: response, requestTime: old.requestTime, responseTime: old.responseTime)
    }

    /// Replaces status, fields and times, for the same content.
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
    /// The head, with times and variant.
    public var head: StoredHead
    /// The content, with content codings removed.
    public var content: Data
    /// Whether the response must not reach a disk: `URLCache.StoragePolicy.allowedInMemoryOnly`.
    var isMemoryOnly = false

    /// Makes a response of head and content.
    public init(head: StoredHead, content: Data) {
        self.head = head
        self.content = content
    }

    init(head: StoredHead, content: Data, isMemoryOnly: Bool) {
        self.init(head: head, content: content)
        self.isMemoryOnly = isMemoryOnly
    }

    /// An estimate of the bytes that the response takes in a store.
    public var byteCount: Int {
        content.count + head.response.sectionByteCount + (head.userInfo?.count ?? 0) + 256
    }
}
