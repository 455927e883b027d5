// Targets for NTLM messages of a server or a proxy.

import FireweedTransport
import Foundation

extension FuzzTarget {
    /// The second of the three messages.
    static let ntlmChallenge = FuzzTarget("ntlm-challenge", maximumByteCount: 1024) { bytes in
        guard let challenge = NTLMMessages.Challenge(Array(bytes)) else { return }
        try expect(challenge.timestamp?.count ?? 8 == 8, "a time has its length")
        for user in ["user", "DOMAIN\\user", "user@example.com"] {
            let message = NTLMMessages.authenticate(
                challenge, RequestMessage.Credentials(user: user, password: "secret", schemes: .ntlm),
                clientChallenge: Array(1...8), now: Date(timeIntervalSince1970: 1_700_000_000))
            try check(message)
            try expect(message.firstRange(of: Array("secret".utf8)) == nil, "the password is no part of the message")
        }
    }

    /// Each of the six parts lies behind the head, where the head says (MS-NLMP §2.2.1.3).
    private static func check(_ message: [UInt8]) throws {
        try expect(message.starts(with: Array("NTLMSSP\0".utf8) + [3, 0, 0, 0]), "the third message says so")
        try expect(message.count >= 64, "a message has its head")
        for place in stride(from: 12, to: 60, by: 8) {
            let length = Int(message[place]) | Int(message[place + 1]) << 8
            let offset = (0..<4).reduce(0) { $0 | Int(message[place + 4 + $1]) << (8 * $1) }
            try expect(message[place..<(place + 2)] == message[(place + 2)..<(place + 4)], "room is what is used")
            try expect(offset >= 64 && offset + length <= message.count, "a part lies within the message")
        }
    }
}
