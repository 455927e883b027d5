// The head of a response, and its content as a sequence.

public import FireweedTransport
public import Foundation

extension DataStreamRequest {
    /// Waits for the head of the response, and returns it with the content that follows.
    ///
    /// ```swift
    /// let request = session.streamRequest("https://example.com/file").validate()
    /// let (head, content) = try await request.headAndContent()
    /// if head.status == 200 { for try await data in content { use(data) } }
    /// ```
    ///
    /// Call this method once, before anything else resumes the request: the content before the call is lost. Only one
    /// iterator can read the content. At most about a megabyte is buffered; then nothing is read from the network until
    /// the iterator has caught up. Releasing the content before its end cancels the request, unless the response has no
    /// content.
    ///
    /// A response that the validators refuse is not returned, and may be retried. Once this method has returned, a
    /// failure ends the content, and no retrier is asked.
    ///
    /// - Returns: the head of the final response, after redirects and retries, and the content.
    /// - Throws: the request's error when there is no acceptable response; `AFError.explicitlyCancelled` when the task
    ///   is cancelled, which cancels the request.
    public func headAndContent() async throws(AFError) -> (head: ResponseHead, content: Elements<Data>) {
        let answer = OneAnswer<Result<ResponseHead, AFError>>()
        let sink = SequenceStreamSink(
            request: self, limit: .unbounded,
            reader: PieceReader<Data, AFError>(isQuick: true, onFailure: .none) { data, emit in
                emit(.success(data), data.count)
            }, head: answer)
        _ = add(sink as any StreamSink)
        let head: ResponseHead
        do {
            head = try await answer.value(ifCancelled: .failure(.explicitlyCancelled)).get()
        } catch {
            sink.detach(cancelling: Task.isCancelled)
            throw error
        }
        let hasContent = head.announcesContent(after: lastAttempt?.message.method)
        let release = TerminationToken { sink.detach(cancelling: hasContent) }
        let content = Elements<Data> {
            StreamSource(next: sink.nextResult, onTermination: release.terminate)
        }
        return (head, content)
    }
}

extension ResponseHead {
    /// Whether content may follow this head (RFC 9112 §6.3).
    fileprivate func announcesContent(after method: String?) -> Bool {
        method != "HEAD" && status != 204 && status != 304 && contentLength != 0
    }
}
