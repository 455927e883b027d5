// The request message that an attempt begins with, with a `URLRequest` made on demand.

import Foundation
import FoundationNetworking
import Synchronization

/// The request that an attempt begins with: its parts, or the `URLRequest` that user code returned.
///
/// A `URLRequest` is slow to make on Linux (3 µs with three fields), and a plain request does not need one.
final class RequestRecord: Sendable {
    let url: URL
    let method: String
    private let headers: HTTPHeaders?
    private let made: Mutex<URLRequest?>

    /// A plain request: method, URL and fields, with defaults for everything else.
    init(url: URL, method: String, headers: HTTPHeaders?) {
        self.url = url
        self.method = method
        self.headers = headers
        made = Mutex(nil)
    }

    /// A request that exists already.
    ///
    /// Throws when it has no URL.
    init(_ request: URLRequest) throws {
        guard let url = request.url else {
            throw AFError.createURLRequestFailed(error: URLError.badURL("the request has no URL"))
        }
        self.url = url
        method = request.httpMethod ?? "GET"
        headers = nil
        made = Mutex(request)
    }

    /// The request, made at the first call.
    var urlRequest: URLRequest {
        made.withLock { made in
            if let made { return made }
            var request = URLRequest(url: url)
            request.httpMethod = method
            if let headers { request.headers = headers }
            made = request
            return request
        }
    }

    /// The request, if it has been made.
    var existing: URLRequest? {
        made.withLock { $0 }
    }

    /// The fields of this request, without the session's.
    var ownHeaders: HTTPHeaders? {
        existing.map { $0.headers } ?? headers
    }
}
