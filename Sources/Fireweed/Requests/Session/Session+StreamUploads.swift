// Stream requests and downloads whose content a `URLRequest` cannot hold.

import FireweedTransport
public import Foundation
public import FoundationNetworking
import Synchronization

/// The content of a stream request that a `URLRequest` cannot hold.
///
/// `Session.upload` gathers the response in memory; a stream request with this content delivers the response as it
/// comes.
public enum StreamRequestContent {
    /// Bytes in memory, for any method.
    case data(Data)
    /// The content of a file, read while it is sent.
    case file(URL)
    /// The content of a stream, read once while it is sent, in chunks; a redirect or a retry that needs the content
    /// again fails.
    case stream(InputStream)
    /// A form; above `MultipartFormData.encodingMemoryThreshold` the form is read from its parts while it is sent.
    case form(MultipartFormData)
}

extension Session {
    /// Makes a request that sends content, and delivers the content of its response as it comes.
    ///
    /// Content other than a stream is sent again after a redirect that keeps the method, an authentication round and a
    /// retry.
    ///
    /// - Parameters:
    ///   - request: URL, method and header fields.
    ///   - content: the content to send; `nil` sends the content of `request`. A form that cannot be read fails the
    ///     request with `AFError.multipartEncodingFailed(reason:)`.
    /// - Returns: the request, which begins with its first handler or with `resume()`.
    public func streamRequest(_ request: URLRequest, uploading content: StreamRequestContent?) -> DataStreamRequest {
        var request = request
        let content = Self.content(content, of: &request)
        return begin(
            DataStreamRequest(
                convertible: request, automaticallyCancelOnStreamError: false, core: core, interceptor: nil,
                shouldAutomaticallyResume: nil, content: content))
    }

    /// Makes a download that sends content which a `URLRequest` cannot hold, such as a file of known length.
    package func download(
        _ request: URLRequest, uploading content: StreamRequestContent?, to destination: DownloadRequest.Destination?
    ) -> DownloadRequest {
        var request = request
        let content = Self.content(content, of: &request)
        return begin(
            DownloadRequest(
                downloadable: .request(request), content: content, destination: destination, core: core,
                interceptor: nil, shouldAutomaticallyResume: nil))
    }

    /// Converts the content for sending; a form also sets the `Content-Type` of `request`.
    private static func content(_ content: StreamRequestContent?, of request: inout URLRequest) -> RequestContent {
        switch content {
        case nil: return .ofURLRequest
        case .data(let data): return .given(.success(.data(data)))
        case .file(let file): return .given(.success(.file(file)))
        case .stream(let stream):
            let box = OneShotStream(stream)
            return .given(.success(.oneShot(box, byteCount: nil)), isUsedUp: { box.isUsedUp })
        case .form(let form):
            request.headers.update(.contentType(form.sentContentType))
            let isSmall = form.contentLength < MultipartFormData.encodingMemoryThreshold
            return .given(Result { isSmall ? .data(try form.encode()) : try form.source() })
        }
    }
}

extension URLSessionTask {
    /// The protocol of the response's head, as `TransactionMetrics.networkProtocolName` names it; `nil` before a head
    /// has come.
    public var responseProtocolName: String? {
        (self as? any AttemptTask)?.attempt.head.map {
            $0.version.hasPrefix("HTTP/2") ? "h2" : $0.version.lowercased()
        }
    }
}
