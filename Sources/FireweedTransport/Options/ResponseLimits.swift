// The limits on responses, over HTTP/1.1 and HTTP/2.

/// The limits on a response except its content; `ContentLimits` limits the content.
package struct ResponseLimits: Sendable {
    /// The most bytes in all heads and trailer sections of one exchange.
    package var maximumHeaderByteCount = 300 * 1024
    /// The most fields in one head or trailer section.
    package var maximumHeaderFieldCount = 1000
    /// The most interim responses of one exchange.
    package var maximumInterimResponseCount = 100
    /// The most bytes in a row without fields or content: chunk lines over HTTP/1.1, frames over HTTP/2.
    package var maximumFramingByteCount = 256 * 1024

    /// Makes the default limits.
    package init() {}

    /// Makes the limits of a session.
    package init(_ options: TransportOptions) {
        maximumHeaderByteCount = min(options.maximumHeaderByteCount, ResponseHead.maximumByteCount)
        maximumHeaderFieldCount = options.maximumHeaderFieldCount
        maximumInterimResponseCount = options.maximumInterimResponseCount
        maximumFramingByteCount = options.maximumFramingByteCount
    }
}
