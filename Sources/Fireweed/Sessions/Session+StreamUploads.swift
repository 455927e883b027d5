// Streams that send content which a `URLRequest` cannot hold.

import FireweedTransport
package import Foundation
package import FoundationNetworking
import Synchronization

/// What a stream request sends besides its `URLRequest`.
package enum StreamRequestContent {
    /// Bytes in memory, for any method.
    case data(Data)
    /// A form; above the threshold for memory it goes straight from its parts.
    case form(MultipartFormData)
}

extension Session {
    /// A request that sends content, and whose response's content is handed on as it comes.
    package func streamRequest(_ request: URLRequest, uploading content: StreamRequestContent?) -> DataStreamRequest {
        var request = request
        let body = content.map { content in
            switch content {
            case .data(let data): return Result<BodySource, any Error>.success(.data(data))
            case .form(let form):
                request.headers.update(.contentType(form.contentType))
                let isSmall = form.contentLength < MultipartFormData.encodingMemoryThreshold
                return Result { isSmall ? .data(try form.encode()) : try form.source() }
            }
        }
        return begin(
            DataStreamRequest(
                convertible: request, automaticallyCancelOnStreamError: false, core: core, interceptor: nil,
                shouldAutomaticallyResume: nil, body: body))
    }
}

extension SessionTask {
    /// The protocol of the response's head, as `TransactionMetrics.networkProtocolName` names it; `nil` before there is one.
    package var responseProtocolName: String? {
        attempt.state.withLock { $0.head }.map { $0.version.hasPrefix("HTTP/2") ? "h2" : $0.version.lowercased() }
    }
}
