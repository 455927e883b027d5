// Compression of what requests send, with `deflate`.

public import Foundation
public import FoundationNetworking

/// Compresses the content of requests in the zlib format, and sends it with `Content-Encoding: deflate`.
///
/// It works on a request's `httpBody`, whose compressed form is made in memory and sent with its length, and on its
/// `httpBodyStream`, which is compressed while it is sent, in chunks. Data, files, streams and forms that
/// `Session.upload` was given are sent as they are. Not every server understands compressed requests: use it where one
/// is known to (RFC 9110 §8.4).
///
/// A retry compresses anew; a redirect that keeps the content sends the compressed form again.
///
/// ```swift
/// let session = Session(interceptor: .deflateCompressor)
/// ```
public struct DeflateRequestCompressor: Sendable, RequestInterceptor {
    /// What happens to a request that has a `Content-Encoding` already.
    public enum DuplicateHeaderBehavior: Sendable {
        /// The request fails with `AFError.requestAdaptationFailed(error:)` around `DuplicateHeaderError`.
        case error
        /// The content is compressed, whatever it was before, and the field replaced.
        case replace
        /// The request is sent as it is.
        case skip
    }

    /// A request has a `Content-Encoding` already.
    public struct DuplicateHeaderError: Error, LocalizedError {
        /// What it means and what to do about it.
        public var errorDescription: String? {
            "The request has a Content-Encoding already; let the compressor replace it or skip such requests."
        }

        /// Makes the error.
        public init() {}
    }

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
            coding: .deflate, duplicateHeaderBehavior: duplicateHeaderBehavior,
            shouldCompressBodyData: shouldCompressBodyData
        ).adapt(urlRequest, completion: completion)
    }
}

extension RequestInterceptor where Self == DeflateRequestCompressor {
    /// A compressor with its defaults.
    public static var deflateCompressor: DeflateRequestCompressor { DeflateRequestCompressor() }

    /// A compressor.
    @preconcurrency
    public static func deflateCompressor(
        duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior = .error,
        shouldCompressBodyData: @escaping @Sendable (_ bodyData: Data) -> Bool = { _ in true }
    ) -> DeflateRequestCompressor {
        DeflateRequestCompressor(
            duplicateHeaderBehavior: duplicateHeaderBehavior, shouldCompressBodyData: shouldCompressBodyData)
    }
}
