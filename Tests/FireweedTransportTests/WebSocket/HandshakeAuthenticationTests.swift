import Foundation
import Testing

@testable import FireweedTransport

@Suite("WebSocket handshake authentication")
struct HandshakeAuthenticationTests {
    private func refusal(_ challenges: String...) -> ResponseHead {
        ResponseHead(status: 401, fields: challenges.map { Field(name: "WWW-Authenticate", value: $0) })
    }

    private func authentication(
        _ schemes: AuthenticationSchemes? = .password, fields: [Field] = []
    ) -> HandshakeAuthentication {
        HandshakeAuthentication(
            message: RequestMessage(
                url: "http://h/", fields: FieldBlock(fields),
                credentials: schemes.map { .init(user: "u", password: "p", schemes: $0) }))
    }

    @Test(
        "Digest goes before NTLM, NTLM before Basic, and none that may not be used is",
        arguments: [
            (AuthenticationSchemes.password, ["Basic realm=x", "NTLM", "Digest nonce=n"], "Digest "),
            (.password, ["Basic realm=x, NTLM"], "NTLM TlRMTVNTUAAB"), (.password, ["Basic realm=x"], "Basic dTpw"),
            ([.basic, .ntlm], ["Digest nonce=n, Basic realm=x"], "Basic dTpw"),
            (.digest, ["Basic realm=x"], nil), (.password, ["Negotiate"], nil), (.negotiate, ["Negotiate"], nil),
            (.password, [], nil), (.password, ["Digest nonce=n, algorithm=SHA3", "Basic realm=x"], "Basic dTpw"),
        ] as [(AuthenticationSchemes, [String], String?)])
    func choice(schemes: AuthenticationSchemes, challenges: [String], prefix: String?) {
        var made = authentication(schemes)
        let head = ResponseHead(
            status: 401, fields: challenges.map { Field(name: "WWW-Authenticate", value: $0) })
        let step = made.answer(head, target: "/")
        #expect(step == (prefix == nil ? .none : .again(onSameConnection: false)))
        #expect(made.authorization?.hasPrefix(prefix ?? "-") == (prefix == nil ? nil : true))
        if prefix == nil { #expect(made.complaint(about: head)?.isEmpty == false) }
    }

    @Test("Basic alone and NTLM alone wait for no challenge; a field of the message's own is left alone")
    func atOnce() {
        #expect(authentication(.basic).authorization == "Basic dTpw")
        #expect(authentication(.ntlm).authorization?.hasPrefix("NTLM ") == true)
        #expect(authentication().authorization == nil && authentication(nil).authorization == nil)
        var own = authentication(.basic, fields: [Field(name: "authorization", value: "Bearer t")])
        #expect(own.authorization == nil)
        #expect(own.answer(refusal("Basic realm=x"), target: "/") == .none)
        var nobody = authentication(nil)
        #expect(nobody.answer(refusal("Basic realm=x"), target: "/") == .none)
        #expect(nobody.complaint(about: refusal("Basic realm=x")) == nil)
    }

    @Test("refused credentials are not sent again", arguments: ["Basic realm=x", "Digest nonce=n", "NTLM"])
    func refused(challenge: String) {
        var made = authentication()
        #expect(made.answer(refusal(challenge), target: "/") == .again(onSameConnection: false))
        #expect(made.answer(refusal(challenge), target: "/") == .none)
        #expect(made.complaint(about: refusal(challenge)) == "it refuses the credentials")
    }

    @Test("a stale nonce is followed by the new one, twice at most, and not by the same")
    func stale() {
        var made = authentication()
        _ = made.answer(refusal("Digest nonce=n0"), target: "/")
        #expect(made.answer(refusal("Digest nonce=n0, stale=true"), target: "/") == .none)
        #expect(made.answer(refusal("Digest nonce=n1, stale=TRUE"), target: "/") == .again(onSameConnection: false))
        #expect(made.authorization?.contains("nonce=\"n1\"") == true)
        #expect(made.answer(refusal("Digest nonce=n2, stale=true"), target: "/") == .again(onSameConnection: false))
        #expect(made.answer(refusal("Digest nonce=n3, stale=true"), target: "/") == .none)
    }

    @Test("NTLM's second answer uses the same connection; an invalid challenge ends it")
    func ntlm() {
        let challenge = Array("NTLMSSP\0".utf8) + [2] + [UInt8](repeating: 0, count: 23)
        let text = Data(challenge).base64EncodedString()
        var made = authentication(.ntlm)
        #expect(made.answer(refusal("NTLM \(text)"), target: "/") == .again(onSameConnection: true))
        #expect(made.authorization?.hasPrefix("NTLM TlRMTVNTUAAD") == true)
        #expect(made.answer(refusal("NTLM"), target: "/") == .none)
        for wrong in ["NTLM", "NTLM x!", "NTLM TlRMTVNTUAAB", "Basic realm=x"] {
            var made = authentication(.ntlm)
            #expect(made.answer(refusal(wrong), target: "/") == .none)
        }
    }
}

@Suite("Reading past a refusal's content")
struct RefusalContentTests {
    private func head(_ fields: [String: String]) -> ResponseHead {
        ResponseHead(status: 401, fields: fields.map { Field(name: $0.key, value: $0.value) })
    }

    private static let chunks = "4\r\nabcd\r\n1A;x=y\r\n\(String(repeating: "z", count: 26))\r\n0\r\nT: u\r\n\r\n"

    @Test(
        "the end is found however the bytes are cut",
        arguments: [
            (["Content-Length": "5"], "abcde"), (["Content-Length": "0"], ""),
            (["transfer-encoding": "Chunked"], chunks),
            (["Transfer-Encoding": "chunked"], "0\r\n\r\n"),
        ], [1, 2, 7, 1000])
    func ends(row: (fields: [String: String], text: String), size: Int) throws {
        var content = try #require(RefusalContent(head(row.fields)))
        var rest = Array((row.text + "HTTP").utf8)[...]
        while true {
            let piece = Array(rest.prefix(size))
            rest = rest.dropFirst(size)
            let step = content.skip(piece)
            if step == .more, !piece.isEmpty { continue }
            guard case .end(let count) = step else {
                Issue.record("\(step)")
                return
            }
            #expect(String(decoding: piece.suffix(count) + rest, as: UTF8.self) == "HTTP")
            return
        }
    }

    @Test(
        "what cannot be followed by another response is of no use",
        arguments: [
            [:], ["Content-Length": "5", "Connection": "close"], ["Content-Length": "-1"], ["Content-Length": "x"],
            ["Transfer-Encoding": "gzip, chunked"], ["Content-Length": "1", "Connection": "foo, Close"],
        ])
    func unusable(fields: [String: String]) {
        #expect(RefusalContent(head(fields)) == nil)
    }

    @Test("content that is long or framed wrongly is given up", arguments: ["x\r\n", "\r\n", "FFFFFF\r\n", "-1\r\n"])
    func useless(text: String) throws {
        var content = try #require(RefusalContent(head(["Transfer-Encoding": "chunked"])))
        #expect(content.skip(Array(text.utf8)) == .useless)
        var long = try #require(RefusalContent(head(["Content-Length": "1000000"])))
        #expect(long.skip([]) == .useless)
    }
}
