// The common part of the request compressors.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking

/// Compresses the content of requests with one coding.
struct RequestCompression: Sendable {
    let coding: RequestCoding
    let duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior
    let shouldCompressBodyData: @Sendable (Data) -> Bool

    /// Content above this size, in bytes, is compressed on a global queue instead of the thread that makes the request.
    private static let ownThreadLimit = 64 * 1024

    func adapt(_ request: URLRequest, completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void) {
        guard request.httpBody?.count ?? 0 > Self.ownThreadLimit else {
            return completion(Result { try compressed(request) })
        }
        DispatchQueue.global().async { completion(Result { try compressed(request) }) }
    }

    /// Returns the request with compressed content, or unchanged when there is nothing to compress.
    private func compressed(_ request: URLRequest) throws -> URLRequest {
        guard request.httpBody != nil || request.httpBodyStream != nil else { return request }
        if request.value(forHTTPHeaderField: "Content-Encoding") != nil {
            switch duplicateHeaderBehavior {
            case .error: throw DeflateRequestCompressor.DuplicateHeaderError()
            case .replace: break
            case .skip: return request
            }
        }
        var coded = request
        if let data = request.httpBody {
            guard shouldCompressBodyData(data) else { return request }
            coded.httpBody = try Deflater.compressed(data, coding)
        } else if let stream = request.httpBodyStream {
            coded.httpBodyStream = CompressingStream(stream, coding)
        }
        coded.setValue(coding.rawValue, forHTTPHeaderField: "Content-Encoding")
        // A `Content-Length` of the request is the length before compression; the transport sets the right one.
        coded.setValue(nil, forHTTPHeaderField: "Content-Length")
        return coded
    }
}
