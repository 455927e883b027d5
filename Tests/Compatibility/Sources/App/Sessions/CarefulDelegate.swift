import Alamofire
import Foundation

/// A delegate that answers challenges itself, looks at redirects, and sees data pass.
public final class CarefulDelegate: SessionDelegate, @unchecked Sendable {
    private let lock = NSLock()
    private var storedEvents: [String] = []
    private let credential: URLCredential?

    public var events: [String] { lock.withLock { storedEvents } }

    public init(credential: URLCredential? = nil) {
        self.credential = credential
        super.init(fileManager: .default)
    }

    private func note(_ event: String) {
        lock.withLock { storedEvents.append(event) }
    }

    public override func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        note("challenge \(challenge.protectionSpace.authenticationMethod)")
        guard challenge.previousFailureCount == 0, let credential else {
            super.urlSession(session, task: task, didReceive: challenge, completionHandler: completionHandler)
            return
        }
        completionHandler(.useCredential, credential)
    }

    public override func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping (URLRequest?) -> Void
    ) {
        note("redirect \(response.statusCode)")
        super.urlSession(
            session, task: task, willPerformHTTPRedirection: response, newRequest: request,
            completionHandler: completionHandler)
    }

    public override func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        note("data")
        super.urlSession(session, dataTask: dataTask, didReceive: data)
    }

    public override func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping (CachedURLResponse?) -> Void
    ) {
        note("cache")
        super.urlSession(
            session, dataTask: dataTask, willCacheResponse: proposedResponse, completionHandler: completionHandler)
    }

    public override func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) {
        note("complete")
        super.urlSession(session, task: task, didCompleteWithError: error)
    }

    public override func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        note("metrics")
        super.urlSession(session, task: task, didFinishCollecting: metrics)
    }

    public override func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        note("sent")
        super.urlSession(
            session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
            totalBytesExpectedToSend: totalBytesExpectedToSend)
    }

    public override func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        note("written")
        super.urlSession(
            session, downloadTask: downloadTask, didWriteData: bytesWritten, totalBytesWritten: totalBytesWritten,
            totalBytesExpectedToWrite: totalBytesExpectedToWrite)
    }

    public override func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        note("downloaded")
        super.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
    }

    public override func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        note("invalid")
        super.urlSession(session, didBecomeInvalidWithError: error)
    }
}
