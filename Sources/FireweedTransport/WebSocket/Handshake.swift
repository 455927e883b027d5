// The opening handshake of one WebSocket.

import Foundation

/// The state between the request and the response of an opening handshake.
struct Handshake {
    private let message: RequestMessage
    private let compression: WebSocketCompression?
    private let headLimit: Int
    private var key = WebSocketKey()
    private(set) var authentication: HandshakeAuthentication
    var reader: HandshakeReader
    /// The rest of a refusal's content, while the next request waits for its end.
    var refusal: RefusalContent?
    /// Bytes of the request that are still to be written.
    var unsent: [UInt8] = []
    private(set) var agreement: HandshakeAgreement?

    init(message: RequestMessage, offer: WebSocketOffer, headLimit: Int) {
        self.message = message
        compression = offer.compression
        self.headLimit = headLimit
        authentication = HandshakeAuthentication(message: message)
        reader = HandshakeReader(limit: headLimit)
    }

    /// Makes the request; throws `badURL` that names what cannot be sent.
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
        /// No answer: the response is the final one.
        case none
        /// Send the answer, which `begin()` makes, on a new connection.
        case again
        /// Send the answer, which `begin()` makes, on the same connection, once the refusal's content is over.
        case againHere
        /// The answer needs the same connection, which the server does not keep open.
        case unkept
    }

    /// Prepares an answer to a challenge.
    mutating func answerChallenge(of head: ResponseHead) -> Answer {
        switch authentication.answer(head, target: request.target ?? "/") {
        case .none: return .none
        case .again(onSameConnection: false): return .again
        case .again(onSameConnection: true):
            refusal = RefusalContent(head)
            return refusal == nil ? .unkept : .againHere
        }
    }

    /// Checks a 101 response and keeps what was agreed on.
    mutating func finish(_ head: ResponseHead) throws(HandshakeFault) {
        agreement = try HandshakeAnswer.agreement(
            head: head, key: key, subprotocols: request.subprotocols, compression: compression)
    }
}
