// The contract between a connection and the handler of its requests.

/// Answers the requests of a server's connections, each of which has a thread of its own.
package protocol RequestHandler: AnyObject, Sendable {
    /// The fault for a request whose head has come, as far as the head decides; `nil` for none.
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
