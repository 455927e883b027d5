// What the compressors have in common.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking

/// Compresses the content of requests with one coding.
struct RequestCompression: Sendable {
    let coding: RequestCoding
    let duplicateHeaderBehavior: DeflateRequestCompressor.DuplicateHeaderBehavior
    let shouldCompressBodyData: @Sendable (Data) -> Bool

    /// Content above this size is compressed on another thread than the one that makes the request.
    private static let ownThreadLimit = 64 * 1024

    func adapt(_ request: URLRequest, completion: @escaping @Sendable (Result<URLRequest, any Error>) -> Void) {
        guard request.httpBody?.count ?? 0 > Self.ownThreadLimit else {
            return completion(Result { try compressed(request) })
        }
        DispatchQueue.global().async { completion(Result { try compressed(request) }) }
    }

    /// The request with its content coded, or as it was where there is nothing to do.
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
        // It was the length before compression; the transport says what is true.
        coded.setValue(nil, forHTTPHeaderField: "Content-Length")
        return coded
    }
}
