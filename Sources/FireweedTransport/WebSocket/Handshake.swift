// The opening handshake of one WebSocket.

import Foundation

/// The state of an opening handshake, from its request to its response.
struct Handshake {
    private let message: RequestMessage
    private let compression: WebSocketCompression?
    private let headLimit: Int
    private var key = WebSocketKey()
    private(set) var authentication: HandshakeAuthentication
    var reader: HandshakeReader
    /// Skips the rest of a refusal's content before the next request; `nil` if there is nothing to skip.
    var refusal: RefusalContent?
    /// The bytes of the request that are still to be written.
    var unsent: [UInt8] = []
    private(set) var agreement: HandshakeAgreement?

    init(message: RequestMessage, offer: WebSocketOffer, headLimit: Int) {
        self.message = message
        compression = offer.compression
        self.headLimit = headLimit
        authentication = HandshakeAuthentication(message: message)
        reader = HandshakeReader(limit: headLimit)
    }

    /// Makes the request; throws `badURL` with the name of the part that cannot be sent.
    mutating func begin() throws(TransferFailure) {
        key = WebSocketKey()
        reader = HandshakeReader(limit: headLimit)
        refusal = nil
        unsent = try request.bytes
    }

    private var request: HandshakeRequest {
        HandshakeRequest(
            message: message, key: key, compression: compression, authorization: authentication.authorization)
    }

    enum Answer {
        /// There is no answer to a challenge: the response is final.
        case none
        /// `begin()` makes a request with the answer; send it on a new connection.
        case again
        /// `begin()` makes a request with the answer; send it on the same connection, after the end of the refusal's
        /// content.
        case againHere
        /// The answer must be sent on the same connection, but the server does not keep the connection open.
        case unkept
    }

    /// Prepares an answer to a challenge, and returns where to send it.
    mutating func answerChallenge(of head: ResponseHead) -> Answer {
        switch authentication.answer(head, target: request.target ?? "/") {
        case .none: return .none
        case .again(onSameConnection: false): return .again
        case .again(onSameConnection: true):
            refusal = RefusalContent(head)
            return refusal == nil ? .unkept : .againHere
        }
    }

    /// Checks a 101 response, and stores the agreement.
    mutating func finish(_ head: ResponseHead) throws(HandshakeFault) {
        agreement = try HandshakeAnswer.agreement(
            head: head, key: key, subprotocols: request.subprotocols, compression: compression)
    }
}
