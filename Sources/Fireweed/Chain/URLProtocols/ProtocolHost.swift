// The attempt's interface for the client of a `URLProtocol`.

import FireweedTransport
import Foundation
import FoundationNetworking

/// The attempt for which a `URLProtocol` performs an exchange.
///
/// `TransferConsumer`'s methods, and `protocolDidReceive` and `protocolDidRedirect`, are called on the queue of the
/// transfer.
protocol ProtocolHost: TransferConsumer {
    /// Calls `body` with the task, which shows the request of the offer during the call.
    func offering<Result>(_ offer: ProtocolOffer, to body: (URLSessionTask) -> Result) -> Result
    /// Receives the response, either made by the protocol or stored earlier.
    func protocolDidReceive(_ response: URLResponse?, _ origin: ProtocolInbox.ResponseOrigin) -> Flow
    /// Receives the protocol's redirect to another request.
    func protocolDidRedirect(to request: URLRequest, _ response: URLResponse)
    /// Answers a challenge of the protocol; called on the `ProtocolThread`.
    func answer(_ challenge: SendableChallenge)
}
