// The contract of a `URLProtocol`'s client with its attempt.

import FireweedTransport
import Foundation
import FoundationNetworking

/// The attempt that a `URLProtocol` performs an exchange for.
///
/// `TransferConsumer`'s methods, and `protocolDidReceive` and `protocolDidRedirect`, are called on the queue of the
/// transfer.
protocol ProtocolHost: TransferConsumer {
    /// Calls `body` with the task, which shows the request of the offer during the call.
    func offering<Result>(_ offer: ProtocolOffer, to body: (URLSessionTask) -> Result) -> Result
    /// A response came, over the network or from a store.
    func protocolDidReceive(_ response: URLResponse?, _ origin: ProtocolInbox.ResponseOrigin) -> Flow
    /// The protocol asks for another request to be sent.
    func protocolDidRedirect(to request: URLRequest, _ response: URLResponse)
    /// The protocol asks for credentials; called on the thread of the protocols.
    func answer(_ challenge: SendableChallenge)
}
