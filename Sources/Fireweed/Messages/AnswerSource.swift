// The source of a response.

/// The source of the response to a message: the network or the cache.
enum AnswerSource: Sendable {
    /// The network.
    case network
    /// The cache.
    case cache
    /// The cache, after the origin confirmed the stored response.
    case revalidation
    /// Nothing was sent: the request accepts only a stored response, and none is suitable; or the request waited for an
    /// equal request, which failed or was not answered in time.
    case notSent
}
