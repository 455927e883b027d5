// The limits on the content of a response.

/// The limits of ``TransportOptions`` on the content of a response.
package struct ContentLimits: Sendable {
    private let maximumByteCount: Int?
    private let maximumExpansionRatio: Int?
    /// The most content codings of a response.
    let maximumCodingCount: Int
    /// Whether content is decoded.
    let decodesContent: Bool
    /// Decoded content up to this size is allowed at any ratio.
    private static let freeExpansion: Int64 = 16 * 1024 * 1024

    /// Copies the limits from the options.
    package init(_ options: TransportOptions) {
        maximumByteCount = options.maximumBodyByteCount
        maximumExpansionRatio = options.maximumExpansionRatio
        maximumCodingCount = max(options.maximumContentCodingCount, 0)
        decodesContent = options.decodesContent
    }

    /// Returns the limit that the content exceeds, from its number of decoded and received bytes; `nil` if it exceeds
    /// none.
    package func refusal(decoded total: Int64, received: @autoclosure () -> Int64) -> TransferRefusal? {
        if let maximumByteCount, total > maximumByteCount { return .bodyBytes(limit: maximumByteCount) }
        guard total > Self.freeExpansion, let ratio = maximumExpansionRatio else { return nil }
        let (allowed, overflow) = received().multipliedReportingOverflow(by: Int64(max(ratio, 1)))
        return overflow || total <= max(allowed, Self.freeExpansion) ? nil : .expansion(limit: ratio)
    }
}
