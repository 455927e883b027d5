import Foundation
import Testing

@testable import FireweedTransport

@Suite("NTLM's messages")
struct NTLMMessagesTests {
    private func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    @Test(
        "MD4 as in RFC 1320 §A.5",
        arguments: [
            ("", "31d6cfe0d16ae931b73c59d7e0c089c0"), ("abc", "a448017aaf21d8525fc10ae87aa6729d"),
            ("message digest", "d9130a8164549fe818874806e1c7014b"),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "e33b4ddc9c38f2199c3e7b164fcc0536"
            ),
        ])
    func md4(text: String, digest: String) {
        #expect(hexadecimal(MD4.digest(of: Array(text.utf8))) == digest)
    }

    private static let names: [UInt8] =
        [2, 0, 12, 0] + Array("D\0o\0m\0a\0i\0n\0".utf8) + [1, 0, 12, 0] + Array("S\0e\0r\0v\0e\0r\0".utf8) + [
            0, 0, 0, 0,
        ]
    private static let challenge = NTLMMessages.Challenge(
        serverChallenge: [0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF], targetInformation: names, flags: 1)

    @Test("the responses of the document's own example (MS-NLMP §4.2.4)")
    func responses() {
        let responses = NTLMMessages.Responses(
            Self.challenge, NTLMMessages.Account("Domain\\User"), password: "Password",
            clientChallenge: [UInt8](repeating: 0xAA, count: 8), time: [UInt8](repeating: 0, count: 8))
        #expect(hexadecimal(responses.newer.prefix(16)) == "68cd0ab851e51c96aabc927bebef6a1c")
        #expect(hexadecimal(responses.older) == "86c35097ac9cec102554764a57cccc19aaaaaaaaaaaaaaaa")
    }

    /// The server's message around the names, as §2.2.1.2 lays it out.
    private static func message(information: [UInt8], flags: [UInt8] = [5, 0x82, 8, 0]) -> [UInt8] {
        Array("NTLMSSP\0".utf8) + [2, 0, 0, 0] + [0, 0, 0, 0, 48, 0, 0, 0] + flags
            + challenge.serverChallenge + [UInt8](repeating: 0, count: 8)
            + [UInt8(information.count), 0, UInt8(information.count), 0, 48, 0, 0, 0] + information
    }

    @Test("a challenge is read; its clock is used, and no older response is sent then")
    func timestamp() throws {
        let clock: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
        let information = [7, 0, 8, 0] + clock + Self.names
        let challenge = try #require(NTLMMessages.Challenge(Self.message(information: information)))
        #expect(challenge.serverChallenge == Self.challenge.serverChallenge)
        #expect(challenge.targetInformation == information && challenge.timestamp == clock)
        #expect(NTLMMessages.Challenge(Self.message(information: Self.names))?.timestamp == nil)
        let message = NTLMMessages.authenticate(
            challenge, .init(user: "Domain\\User", password: "Password"),
            clientChallenge: [UInt8](repeating: 0xAA, count: 8), now: Date())
        #expect(message.starts(with: Array("NTLMSSP\0".utf8) + [3, 0, 0, 0, 24, 0, 24, 0, 64, 0, 0, 0]))
        #expect(message[64..<88].allSatisfy { $0 == 0 })
        #expect(Array(message.suffix(20)) == Array("D\0o\0m\0a\0i\0n\0U\0s\0e\0r\0".utf8))
        #expect(Array(message[(88 + 24)..<(88 + 32)]) == clock)
    }

    @Test("whatever a server sends as a challenge, nothing is read beyond its end")
    func malformed() {
        let whole = Self.message(information: Self.names)
        for count in 0..<whole.count { _ = NTLMMessages.Challenge(Array(whole.prefix(count)))?.timestamp }
        for place in 0..<whole.count {
            var bytes = whole
            bytes[place] = 0xFF
            _ = NTLMMessages.Challenge(bytes)?.timestamp
        }
        #expect(NTLMMessages.Challenge(Array(whole.prefix(31))) == nil)
        #expect(NTLMMessages.Challenge(Array("NTLMSSP\0".utf8) + [1] + whole.dropFirst(9)) == nil)
    }

    @Test("the first message is the document's 32 bytes with nothing but flags")
    func first() {
        #expect(
            hexadecimal(NTLMMessages.negotiate) == "4e544c4d535350000100000005820800"
                + String(repeating: "0", count: 32))
    }
}
