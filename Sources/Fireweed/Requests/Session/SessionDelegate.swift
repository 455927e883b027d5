// The delegate of a session: it is notified of events, and decides for tasks, like a delegate of Foundation.

import FireweedTransport
public import Foundation
public import FoundationNetworking

/// The delegate of a session: has the file manager for downloads; a subclass observes tasks or decides for them.
///
/// The methods are those of Foundation's delegates. They are called for subclasses only, on the session's root queue,
/// which they must not block. Their `session` is `Session.session`.
/// - The methods with a completion handler decide. `super` makes the default decision: it asks the handlers of the
///   request and the session. A completion handler may be called later and on any thread; its first call counts.
///   Without a decision the request waits until it times out or is cancelled.
/// - The other methods report events. An override need not call `super`.
open class SessionDelegate: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, URLSessionWebSocketDelegate,
    @unchecked Sendable
{
    // SAFETY: `FileManager.default` may be used from any thread; the caller must make sure of that for another file
    // manager.
    let fileManager: FileManager

    /// Makes a delegate; the file manager makes the folders above the destinations of downloads.
    public init(fileManager: FileManager = .default) {
        self.fileManager = fileManager
    }

    /// A name for the delegate's rules about servers, for caches that sessions share.
    ///
    /// Sessions whose delegates return the same text share stored responses of `https` URLs. With `nil`, the default, a
    /// session shares none, since another object of the same class may have other rules. Override this when every
    /// session with this text trusts the same servers, such as in a delegate that only observes.
    open var cachePartition: String? { nil }

    // MARK: Decisions

    /// Decides about a challenge: a server's certificates in the TLS handshake, or a 401 for HTTP credentials.
    ///
    /// For a server's certificates the protection space's `authenticationMethod` is
    /// `"NSURLAuthenticationMethodServerTrust"`, and its `serverTrust` has them; `useCredential` with any credential
    /// trusts the server. The task is one of the tasks that wait for the connection: the server is evaluated once for
    /// each connection.
    ///
    /// For the client's certificate the method is `"NSURLAuthenticationMethodClientCertificate"`, and the answer is
    /// `useCredential` with a ``ClientIdentityCredential``. The delegate is asked whenever a server was found to be
    /// trusted; the certificate is sent only to a server that requests one.
    ///
    /// For HTTP credentials the request is sent again with the credential's user and password, at most four times;
    /// `performDefaultHandling` answers with the credentials of the request, the netrc file or the storage; without
    /// such credentials, and with `rejectProtectionSpace`, the 401 is the response. `cancelAuthenticationChallenge`
    /// ends the task with `URLError.cancelled`.
    ///
    /// Not called for the 407 of proxies and for the 401 of WebSockets.
    open func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(.performDefaultHandling, nil)
    }

    /// Decides about a redirect.
    ///
    /// `super` asks the redirect handler of the request or the session.
    ///
    /// - Parameters:
    ///   - session: Foundation's session with the same configuration; it sends nothing.
    ///   - task: the task that is redirected.
    ///   - response: the response with the redirect.
    ///   - request: the request that would follow.
    ///   - completionHandler: takes the request to send, or `nil` to take the redirect as the response.
    open func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        guard let owner = (task as? any AttemptTask)?.attempt.owningRequest, let handler = owner.chosenRedirectHandler
        else {
            return completionHandler(request)
        }
        // SAFETY: Foundation lets the handler be called from any thread; its type does not say so.
        nonisolated(unsafe) let completionHandler = completionHandler
        handler.task(task, willBeRedirectedTo: request, for: response) { completionHandler($0) }
    }

    /// Gives a stream for the content of an upload, each time that the task needs one; `nil` fails the task with
    /// `URLError.requestBodyStreamExhausted`.
    ///
    /// Called when the upload of an `InputStream` begins, and when a redirect, an answer to a challenge or a retry must
    /// send the content again after its stream was read. `super` gives the request's own stream the first time, then
    /// `nil`. A minute without an answer counts as `nil`.
    open func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping (InputStream?) -> Void
    ) {
        let request = (task as? any AttemptTask)?.attempt.owningRequest as? UploadRequest
        completionHandler(request?.takeStream())
    }

    /// Decides about the head of a response, before its content is read; `cancel` ends the task with
    /// `URLError.cancelled`.
    ///
    /// After `allow` the request's `onHTTPResponse` handlers are asked. `becomeDownload` and `becomeStream` count as
    /// `allow`. Not called for downloads.
    @preconcurrency
    open func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(.allow)
    }

    /// Decides what is stored in the cache; `nil` stores nothing.
    ///
    /// `super` asks the cached-response handler of the request or the session.
    open func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping (CachedURLResponse?) -> Void
    ) {
        guard let owner = (dataTask as? any AttemptTask)?.attempt.owningRequest,
            let handler = owner.chosenStoringHandler
        else {
            return completionHandler(proposedResponse)
        }
        // SAFETY: Foundation lets the handler be called from any thread; its type does not say so.
        nonisolated(unsafe) let completionHandler = completionHandler
        handler.dataTask(dataTask, willCacheResponse: proposedResponse) { completionHandler($0) }
    }

    // MARK: Events

    /// The session was invalidated.
    open func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {}

    /// Content of the request was sent; `totalBytesExpectedToSend` is -1 if unknown.
    open func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {}

    /// The metrics of a task are complete.
    open func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: TaskMetrics) {}

    /// A task has ended.
    open func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {}

    /// The task waits because there is no route to its host, in a session with `waitsForConnectivity`.
    open func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {}

    /// Content of a response came.
    open func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {}

    /// The content of a download is complete; the file is not at its destination yet.
    open func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {}

    /// Content of a download came; `totalBytesExpectedToWrite` is -1 if unknown.
    open func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {}

    /// A download continues an earlier download.
    open func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {}

    /// The handshake of a WebSocket is done; the server chose this subprotocol.
    open func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {}

    /// The server's close frame came; a code that Foundation has no value for is `.invalid`.
    open func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {}
}
