// Uploads of what async sequences give.

public import Foundation

extension Session {
    /// Sends what an async sequence gives, in chunks unless the request has a `Content-Length`.
    ///
    /// The sequence is read once, while it is sent and no faster: at most one element and 256 KiB wait in memory. Its
    /// iterator is made when the content is needed, and its task is cancelled when the transfer ends before the
    /// sequence. While the sequence gives nothing, the time-out of the request runs.
    ///
    /// A redirect, an answer to a challenge or a retry that needs the content again fails with
    /// `URLError.requestBodyStreamExhausted`, as with an `InputStream`. What the sequence throws ends the request, as
    /// the underlying error of the same `URLError`.
    ///
    /// ```swift
    /// let lines = AsyncStream<Data> { continuation in … }
    /// let response = await session.upload(lines, to: "https://example.com/log").serializingString().response
    /// ```
    ///
    /// - Parameters:
    ///   - content: gives the bytes; empty elements count for nothing.
    ///   - convertible: the URL.
    ///   - method: the method, `.post` by default.
    ///   - headers: the fields of the request; `nil` for none.
    ///   - interceptor: adapts and retries this request, after the session's.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil` leaves it to the session.
    ///   - requestModifier: changes the `URLRequest`.
    @preconcurrency
    public func upload<Content: AsyncSequence & Sendable>(
        _ content: Content, to convertible: any URLConvertible, method: HTTPMethod = .post,
        headers: HTTPHeaders? = nil, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil, requestModifier: RequestModifier? = nil
    ) -> UploadRequest where Content.Element: DataProtocol {
        let request = EncodedRequest(
            url: convertible, method: method, headers: headers, encode: nil, modify: requestModifier)
        return upload(
            content, with: request, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume)
    }

    /// Sends what an async sequence gives, with a request that is made by anything that makes a `URLRequest`.
    ///
    /// The rest is as in `upload(_:to:method:headers:interceptor:shouldAutomaticallyResume:requestModifier:)`.
    @preconcurrency
    public func upload<Content: AsyncSequence & Sendable>(
        _ content: Content, with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest where Content.Element: DataProtocol {
        begin(
            UploadRequest(
                UploadContent(sequence: .oneShot(content)), convertible: convertible, core: core,
                interceptor: interceptor,
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }
}
