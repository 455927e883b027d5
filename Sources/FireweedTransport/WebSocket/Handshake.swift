// The opening handshake of one WebSocket.

import Foundation

/// What is kept between the handshake's request and its answer.
struct Handshake {
    private let message: RequestMessage
    private let compression: WebSocketCompression?
    private let headLimit: Int
    private var key = WebSocketKey()
    private var authorization: String?
    var reader: HandshakeReader
    /// Bytes of the request that are still to be written.
    var unsent: [UInt8] = []
    private(set) var agreement: HandshakeAgreement?

    init(message: RequestMessage, offer: WebSocketOffer, headLimit: Int) {
        self.message = message
        compression = offer.compression
        self.headLimit = headLimit
        reader = HandshakeReader(limit: headLimit)
    }

    /// Makes the request; nothing is to be sent when the URL has no host.
    mutating func begin() {
        key = WebSocketKey()
        reader = HandshakeReader(limit: headLimit)
        unsent = request.bytes ?? []
    }

    private var request: HandshakeRequest {
        HandshakeRequest(message: message, key: key, compression: compression, authorization: authorization)
    }

    /// Prepares an answer to a 401 with the message's credentials, once; false when there is none to give.
    mutating func answerChallenge(of head: ResponseHead) -> Bool {
        guard head.status == 401, authorization == nil, let credentials = message.credentials,
            head.values(of: "WWW-Authenticate").contains(where: { $0.lowercased().hasPrefix("basic") })
        else { return false }
        authorization = "Basic " + Data("\(credentials.user):\(credentials.password)".utf8).base64EncodedString()
        return true
    }

    /// Checks a 101 response and keeps what was agreed on.
    mutating func conclude(_ head: ResponseHead) throws(HandshakeFault) {
        agreement = try HandshakeAnswer.agreement(
            head: head, key: key, subprotocols: request.subprotocols, compression: compression)
    }
}
