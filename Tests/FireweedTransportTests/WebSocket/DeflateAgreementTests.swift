import Testing

@testable import FireweedTransport

@Suite("Agreeing on permessage-deflate (RFC 7692 §7.1)")
struct DeflateAgreementTests {
    @Test("an offer names its parameters")
    func offers() {
        #expect(DeflateAgreement.offer(WebSocketCompression()) == "permessage-deflate; client_max_window_bits")
        let full = WebSocketCompression(
            allowsClientContextTakeover: false, allowsServerContextTakeover: false, clientMaximumWindowBits: 10,
            serverMaximumWindowBits: 99)
        #expect(
            DeflateAgreement.offer(full)
                == "permessage-deflate; client_no_context_takeover; server_no_context_takeover; "
                + "client_max_window_bits=10; server_max_window_bits=15")
    }

    @Test(
        "answers that are right",
        arguments: [
            ("permessage-deflate", DeflateAgreement()),
            ("permessage-deflate; server_no_context_takeover", DeflateAgreement(serverTakesContextOver: false)),
            ("permessage-deflate ;client_no_context_takeover", DeflateAgreement(clientTakesContextOver: false)),
            ("permessage-deflate; client_max_window_bits=9", DeflateAgreement(clientWindowBits: 9)),
            ("permessage-deflate; client_max_window_bits=\"9\"", DeflateAgreement(clientWindowBits: 9)),  // §7.1.2
            ("permessage-deflate; server_max_window_bits=8", DeflateAgreement(serverWindowBits: 8)),
        ])
    func right(value: String, expected: DeflateAgreement) throws {
        #expect(try DeflateAgreement.answer([value], to: WebSocketCompression()) == expected)
    }

    @Test(
        "answers that are wrong",
        arguments: [
            "permessage-foo", "permessage-deflate, permessage-deflate", "permessage-deflate; colour=red",
            "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
            "permessage-deflate; server_no_context_takeover=1", "permessage-deflate; client_max_window_bits",
            "permessage-deflate; client_max_window_bits=7", "permessage-deflate; client_max_window_bits=16",
            "permessage-deflate; client_max_window_bits=09", "permessage-deflate; server_max_window_bits",
            "permessage-deflate; server_max_window_bits=x", "permessage-deflate;",
        ])
    func wrong(value: String) {
        #expect(throws: HandshakeFault.self) { try DeflateAgreement.answer([value], to: WebSocketCompression()) }
    }

    @Test("an answer keeps to what the offer demanded, and none comes without an offer")
    func demands() throws {
        let strict = WebSocketCompression(
            allowsServerContextTakeover: false, clientMaximumWindowBits: 10, serverMaximumWindowBits: 11)
        let kept = "permessage-deflate; server_no_context_takeover; server_max_window_bits=11"
        let agreement = try DeflateAgreement.answer([kept], to: strict)
        #expect(agreement?.clientWindowBits == 10 && agreement?.serverTakesContextOver == false)
        for broken in [
            "permessage-deflate", "permessage-deflate; server_no_context_takeover",
            "permessage-deflate; server_no_context_takeover; server_max_window_bits=12",
            kept + "; client_max_window_bits=11",
        ] {
            #expect(throws: HandshakeFault.self) { try DeflateAgreement.answer([broken], to: strict) }
        }
        #expect(throws: HandshakeFault.self) { try DeflateAgreement.answer(["permessage-deflate"], to: nil) }
        #expect(try DeflateAgreement.answer([], to: strict) == nil)
    }
}
