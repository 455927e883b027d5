// Compression of request content with `deflate`.

public import Foundation
public import FoundationNetworking

/// Compresses the content of requests in the zlib format, and sends it with `Content-Encoding: deflate`.
///
/// The compressor compresses a request's `httpBody` in memory, and sends it with its length. It compresses a request's
/// `httpBodyStream` while the stream is sent, in chunks. The data, files, streams and forms of `Session.upload` are
/// sent uncompressed. Not every server understands compressed requests (RFC 9110 §8.4).
///
/// A retry compresses again; a redirect that keeps the content sends the compressed form again.
///
/// ```swift
/// let session = Session(interceptor: .deflateCompressor)
/// ```
public struct DeflateRequestCompressor: Sendable, RequestInterceptor {
    /// What happens to a request that has a `Content-Encoding` already.
    public enum DuplicateHeaderBehavior: Sendable {
        /// The request fails with `AFError.requestAdaptationFailed(error:)` around `DuplicateHeaderError`.
        case error
        /// The content is compressed again, and the field is replaced.
        case replace
        /// The request is sent as it is.
        case skip
    }

    /// Thrown when a request has a `Content-Encoding` already.
    public struct DuplicateHeaderError: Error, LocalizedError {
        /// The reason, and what to do about it.
        public var errorDescription: String? {
            "The request has a Content-Encoding already; let the compressor replace it or skip such requests."
        }

        /// Makes the error.
        public init() {}
    }

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
            coding: .deflate, duplicateHeaderBehavior: duplicateHeaderBehavior,
            shouldCompressBodyData: shouldCompressBodyData
        ).adapt(urlRequest, completion: completion)
    }
}

extension RequestInterceptor where Self == DeflateRequestCompressor {
    /// A compressor with its defaults.
    public static var deflateCompressor: DeflateRequestCompressor { DeflateRequestCompressor() }

    /// Makes a compressor.
    ///
    /// - Parameters:
    ///   - duplicateHeaderBehavior: what happens to a request that has a `Content-Encoding` already; it fails, by
    ///     default.
    ///   - shouldCompressBodyData: whether an `httpBody` is compressed; always by default. Streams are always
    ///     compressed.
    /// - Returns: the compressor.
    @preconcurrency
    public static func deflateCompressor(
        duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) -> DeflateRequestCompressor {
        DeflateRequestCompressor(
            duplicateHeaderBehavior: duplicateHeaderBehavior, shouldCompressBodyData: shouldCompressBodyData)
    }
}
