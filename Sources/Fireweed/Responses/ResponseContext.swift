// The request and the response head of a response; Foundation's objects are made on demand.

package import FireweedTransport
package import Foundation
package import FoundationNetworking

/// The request, the response head and the metrics that belong to a response.
///
/// A protocol, so that an `Attempt` makes the `URLRequest` and `HTTPURLResponse`, which takes microseconds, only for
/// callers that read them.
package protocol ResponseContext: Sendable {
    var request: URLRequest? { get }
    var response: HTTPURLResponse? { get }
    var metrics: TaskMetrics? { get }
    var requestMethod: String? { get }
    var statusCode: Int? { get }
    /// The head as received; `nil` without a response, and for a response that was made from Foundation's objects.
    var head: ResponseHead? { get }
    /// The trailer fields (RFC 9110 §6.5); `nil` when none came.
    var trailers: FieldBlock? { get }
    /// The URL that the response came from, after redirects; `nil` without a response.
    var responseURL: URL? { get }
    /// The value of a field of the response; the values of several fields with this name are joined by commas.
    func responseField(_ name: String) -> String?
}

extension ResponseContext {
    // Defaults for contexts that store Foundation's objects; other contexts implement these members without making the
    // objects.
    package var requestMethod: String? { request?.httpMethod }
    package var statusCode: Int? { response?.statusCode }
    package var head: ResponseHead? { nil }
    package var trailers: FieldBlock? { nil }
    package var responseURL: URL? { response?.url }
    package func responseField(_ name: String) -> String? { response?.value(forHTTPHeaderField: name) }
}

/// A context that stores Foundation's objects.
struct FixedResponseContext: ResponseContext {
    var request: URLRequest?
    var response: HTTPURLResponse?
    var metrics: TaskMetrics?
}

/// The context of a request that was never sent.
struct UnsentResponseContext: ResponseContext {
    var record: RequestRecord?

    var request: URLRequest? { record?.urlRequest }
    var response: HTTPURLResponse? { nil }
    var metrics: TaskMetrics? { nil }
    var requestMethod: String? { record?.method }
    var statusCode: Int? { nil }
    var responseURL: URL? { nil }
    func responseField(_ name: String) -> String? { nil }
}

/// A response whose result can be replaced by a failure: a data response or a download response.
protocol FailableResponse {
    associatedtype Value
    /// Returns the value, or throws the error.
    func outcome() throws -> Value
    /// The same response, with this failure as its result.
    func failed(with error: AFError) -> Self
}
