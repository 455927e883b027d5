// Compression of what requests send, with `gzip`.

public import Foundation
public import FoundationNetworking

/// Compresses the content of requests in the gzip format, and sends it with `Content-Encoding: gzip`.
///
/// In everything else it is `DeflateRequestCompressor`; more servers understand this one.
public struct GzipRequestCompressor: Sendable, RequestInterceptor {
    /// What happens to a request that has a `Content-Encoding` already.
    public typealias DuplicateHeaderBehavior = DeflateRequestCompressor.DuplicateHeaderBehavior
    /// A request has a `Content-Encoding` already.
    public typealias DuplicateHeaderError = DeflateRequestCompressor.DuplicateHeaderError

    /// What happens to a request that has a `Content-Encoding` already; `.error` by default.
    public let duplicateHeaderBehavior: DuplicateHeaderBehavior
    /// Asked with each `httpBody` whether it is to be compressed; streams are compressed without a question.
    public let shouldCompressBodyData: @Sendable (_ bodyData: Data) -> Bool

    /// Makes a compressor; without arguments it compresses everything, and refuses requests that are coded already.
    @preconcurrency
    public init(
        duplicateHeaderBehavior: DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) {
        self.duplicateHeaderBehavior = duplicateHeaderBehavior
        self.shouldCompressBodyData = shouldCompressBodyData
    }

    /// Gives the request with compressed content; `completion` runs on this thread, or on a global queue for more than
    /// 64 KiB.
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

    /// A compressor.
    @preconcurrency
    public static func gzipCompressor(
        duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) -> GzipRequestCompressor {
        GzipRequestCompressor(
            duplicateHeaderBehavior: duplicateHeaderBehavior, shouldCompressBodyData: shouldCompressBodyData)
    }
}
