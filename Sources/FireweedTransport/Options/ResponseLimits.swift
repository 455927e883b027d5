// Limits on responses, over HTTP/1.1 and HTTP/2.

/// The limits on everything in a response but its content, which has `ContentLimits`.
package struct ResponseLimits: Sendable {
    /// The most bytes of all heads and trailers of one exchange.
    package var maximumHeaderByteCount = 300 * 1024
    /// The most fields of one head or trailer section.
    package var maximumHeaderFieldCount = 1000
    /// The most interim responses of one exchange.
    package var maximumInterimResponseCount = 100
    /// The most bytes without content: lines of chunks over HTTP/1.1, frames over HTTP/2.
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
