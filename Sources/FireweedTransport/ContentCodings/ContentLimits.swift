// Limits on the content of a response.

/// The limits of ``TransportOptions`` on the content of a response.
package struct ContentLimits: Sendable {
    private let maximumByteCount: Int?
    private let maximumExpansionRatio: Int?
    /// How many content codings a response may have.
    let maximumCodingCount: Int
    /// Whether content is decoded at all.
    let decodesContent: Bool
    /// Decoded content up to this size is allowed at any ratio.
    private static let freeExpansion: Int64 = 16 * 1024 * 1024

    /// Takes the limits from options.
    package init(_ options: TransportOptions) {
        maximumByteCount = options.maximumBodyByteCount
        maximumExpansionRatio = options.maximumExpansionRatio
        maximumCodingCount = max(options.maximumContentCodingCount, 0)
        decodesContent = options.decodesContent
    }

    /// The limit that content exceeds, by its decoded and its coded number of bytes; `nil` when it exceeds none.
    package func refusal(decoded total: Int64, received: @autoclosure () -> Int64) -> TransferRefusal? {
        if let maximumByteCount, total > maximumByteCount { return .bodyBytes(limit: maximumByteCount) }
        guard total > Self.freeExpansion, let ratio = maximumExpansionRatio else { return nil }
        let (allowed, overflow) = received().multipliedReportingOverflow(by: Int64(max(ratio, 1)))
        return overflow || total <= max(allowed, Self.freeExpansion) ? nil : .expansion(limit: ratio)
    }
}
