// A request message as the session made it, with its `URLRequest` made when someone looks.

import Foundation
import FoundationNetworking
import Synchronization

/// What a request came down to: its parts, or the `URLRequest` that the user's code returned.
///
/// `URLRequest` is slow to make here (3 µs with three fields). A plain request has no need of it: nobody may ever look.
final class RequestRecord: Sendable {
    let url: URL
    let method: String
    private let headers: HTTPHeaders?
    private let made: Mutex<URLRequest?>

    /// A plain request: method, URL and fields, and everything else by default.
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
        guard let url = request.url else { throw AFError.createURLRequestFailed(error: URLError(.badURL)) }
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

    /// The fields that belong to this request alone.
    var ownHeaders: HTTPHeaders? {
        existing.map { $0.headers } ?? headers
    }
}
