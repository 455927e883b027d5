// Uploads of the bytes of async sequences.

public import Foundation

extension Session {
    /// Sends the bytes of an async sequence.
    ///
    /// Without a `Content-Length`, HTTP/1.1 sends the bytes with the chunked coding. The sequence is read once, and no
    /// faster than it is sent: at most one element and 256 KiB wait in memory. Its iterator is made when the content is
    /// needed. The task that reads the sequence is cancelled if the transfer ends first. While the request waits for
    /// the sequence, its time-out runs.
    ///
    /// A redirect or an answer to a challenge that needs the content again fails with
    /// `URLError.requestBodyStreamExhausted`, and there is no retry, as with an `InputStream`. An error that the
    /// sequence throws ends the request, as the underlying error of the same `URLError`.
    ///
    /// ```swift
    /// let (lines, log) = AsyncStream.makeStream(of: Data.self)
    /// log.yield(Data("started\n".utf8))
    /// log.finish()
    /// let response = await session.upload(lines, to: "https://example.com/log").serializingString().response
    /// ```
    ///
    /// - Parameters:
    ///   - content: gives the bytes; empty elements add nothing.
    ///   - convertible: the URL.
    ///   - method: the method; `.post` by default.
    ///   - headers: fields of this request, which replace the session's fields of the same name; `nil`, the default,
    ///     for none.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    ///   - requestModifier: changes the `URLRequest`.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
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

    /// Sends the bytes of an async sequence with the request that `convertible` makes.
    ///
    /// The sequence is read as in `upload(_:to:method:headers:interceptor:shouldAutomaticallyResume:requestModifier:)`.
    ///
    /// - Parameters:
    ///   - content: gives the bytes; empty elements add nothing.
    ///   - convertible: makes the `URLRequest`; its own content is replaced.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    public func upload<Content: AsyncSequence & Sendable>(
        _ content: Content, with convertible: any URLRequestConvertible,
        interceptor: (any RequestInterceptor)? = nil, shouldAutomaticallyResume: Bool? = nil
    ) -> UploadRequest where Content.Element: DataProtocol {
        begin(
            UploadRequest(
                UploadContent(sequence: content), convertible: convertible, core: core,
                interceptor: interceptor,
                shouldAutomaticallyResume: shouldAutomaticallyResume))
    }

    /// Makes a request that sends the bytes of an async sequence, and delivers the content of its response as it comes.
    ///
    /// Both directions run at the same time: a server may answer while it still receives. Each side is only as fast as
    /// its reader. The sequence is read no faster than it is sent, as in
    /// `upload(_:to:method:headers:interceptor:shouldAutomaticallyResume:requestModifier:)`. Without a
    /// `Content-Length`, HTTP/1.1 sends the bytes with the chunked coding.
    ///
    /// ```swift
    /// var request = try URLRequest(url: "https://example.com/translate", method: .post)
    /// request.timeoutInterval = 300
    /// let (words, input) = AsyncStream.makeStream(of: Data.self)
    /// let answers = session.streamRequest(words, with: request).lines()
    /// input.yield(Data("fireweed\n".utf8))
    /// for try await line in answers { use(line) }
    /// ```
    ///
    /// - Parameters:
    ///   - content: gives the bytes; empty elements add nothing.
    ///   - isRepeatable: whether each iterator of `content` gives the same bytes from the beginning, so that a
    ///     redirect, a challenge or a retry can send them again. False, the default, sends them once: a second message
    ///     that needs them fails with `URLError.requestBodyStreamExhausted`, and there is no retry.
    ///   - convertible: makes the `URLRequest`; its own content is replaced.
    ///   - automaticallyCancelOnStreamError: whether a serialiser's failure cancels the request; false by default.
    ///   - interceptor: adapts and retries this request, after the session's interceptor.
    ///   - shouldAutomaticallyResume: whether the first handler resumes the request; `nil`, the default, leaves that to
    ///     the session.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    @preconcurrency
    public func streamRequest<Content: AsyncSequence & Sendable>(
        _ content: Content, isRepeatable: Bool = false, with convertible: any URLRequestConvertible,
        automaticallyCancelOnStreamError: Bool = false, interceptor: (any RequestInterceptor)? = nil,
        shouldAutomaticallyResume: Bool? = nil
    ) -> DataStreamRequest where Content.Element: DataProtocol {
        begin(
            DataStreamRequest(
                convertible: convertible, automaticallyCancelOnStreamError: automaticallyCancelOnStreamError,
                core: core, interceptor: interceptor, shouldAutomaticallyResume: shouldAutomaticallyResume,
                content: .upload(UploadContent(sequence: content, isRepeatable: isRepeatable))))
    }
}
