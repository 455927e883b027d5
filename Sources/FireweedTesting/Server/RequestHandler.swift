// The contract between a connection and the handler of its requests.

/// Answers the requests of a server's connections, each of which has a thread of its own.
package protocol RequestHandler: AnyObject, Sendable {
    /// Returns the fault of the answer that a request will get, as far as the request's head shows; `nil` for no fault.
    func earlyFault(for request: RecordedRequest) -> ServerFault?

    /// Records a request, and returns its answer; `nil` for no answer.
    func take(_ request: RecordedRequest) -> Result<(MockResponse, RecordedRequest), any Error>?
}

extension MockServer: RequestHandler {
    package func take(_ request: RecordedRequest) -> Result<(MockResponse, RecordedRequest), any Error>? {
        record(request.wireBytes)
        return answer(to: request)
    }
}
