// Compression of request content with `gzip`.

public import Foundation
public import FoundationNetworking

/// Compresses the content of requests in the gzip format, and sends it with `Content-Encoding: gzip`.
///
/// Otherwise it works like ``DeflateRequestCompressor``. More servers understand `gzip`.
public struct GzipRequestCompressor: Sendable, RequestInterceptor {
    /// What happens to a request that has a `Content-Encoding` already.
    public typealias DuplicateHeaderBehavior = DeflateRequestCompressor.DuplicateHeaderBehavior
    /// Thrown when a request has a `Content-Encoding` already.
    public typealias DuplicateHeaderError = DeflateRequestCompressor.DuplicateHeaderError

    /// What happens to a request that has a `Content-Encoding` already; `.error` by default.
    public let duplicateHeaderBehavior: DuplicateHeaderBehavior
    /// Decides for each `httpBody` whether it is compressed; streams are always compressed.
    public let shouldCompressBodyData: @Sendable (_ bodyData: Data) -> Bool

    /// Makes a compressor.
    ///
    /// - Parameters:
    ///   - duplicateHeaderBehavior: what happens to a request that has a `Content-Encoding` already; it fails, by
    ///     default.
    ///   - shouldCompressBodyData: whether an `httpBody` is compressed; always by default. Streams are always
    ///     compressed.
    @preconcurrency
    public init(
        duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) {
        self.duplicateHeaderBehavior = duplicateHeaderBehavior
        self.shouldCompressBodyData = shouldCompressBodyData
    }

    /// Compresses the content of the request; `completion` runs on the calling thread, or on a global queue for an
    /// `httpBody` of more than 64 KiB.
    @preconcurrency
    public func adapt(
        _ urlRequest: URLRequest, for session: Session,
        completion: @escaping @Sendable (_ result: Result<URLRequest, any Error>) -> Void
    ) {
        RequestCompression(
            coding: .gzip, duplicateHeaderBehavior: duplicateHeaderBehavior,
            shouldCompressBodyData: shouldCompressBodyData
        ).adapt(urlRequest, completion: completion)
    }
}

extension RequestInterceptor where Self == GzipRequestCompressor {
    /// A compressor with its defaults.
    public static var gzipCompressor: GzipRequestCompressor { GzipRequestCompressor() }

    /// Makes a compressor.
    ///
    /// - Parameters:
    ///   - duplicateHeaderBehavior: what happens to a request that has a `Content-Encoding` already; it fails, by
    ///     default.
    ///   - shouldCompressBodyData: whether an `httpBody` is compressed; always by default. Streams are always
    ///     compressed.
    /// - Returns: the compressor.
    @preconcurrency
    public static func gzipCompressor(
        duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) -> GzipRequestCompressor {
        GzipRequestCompressor(
            duplicateHeaderBehavior: duplicateHeaderBehavior, shouldCompressBodyData: shouldCompressBodyData)
    }
}
