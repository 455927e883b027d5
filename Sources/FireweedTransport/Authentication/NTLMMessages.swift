// The three messages of NTLM version 2, as specified by Microsoft's MS-NLMP; pure.

package import Foundation

/// Makes the client's messages and parses the server's message.
///
/// It does not support signing and sealing. It also lacks the integrity code and the channel bindings that servers with
/// "extended protection" require.
package enum NTLMMessages {
    /// Unicode, target names, NTLM, always-sign (although nothing is signed), extended session security (§2.2.2.5).
    private static let flags: UInt32 = 0x0008_8205
    private static let signature = Array("NTLMSSP\0".utf8)

    /// The first message (§2.2.1.1).
    static let negotiate = signature + little(UInt32(1)) + little(flags) + [UInt8](repeating: 0, count: 16)

    /// The server's message (§2.2.1.2).
    package struct Challenge: Equatable {
        let serverChallenge: [UInt8]
        let targetInformation: [UInt8]
        let flags: UInt32

        /// Parses a message; `nil` if the bytes are not such a message.
        package init?(_ bytes: [UInt8]) {
            guard bytes.count >= 32, bytes.starts(with: NTLMMessages.signature),
                NTLMMessages.number(bytes, at: 8, count: 4) == 2
            else { return nil }
            flags = UInt32(NTLMMessages.number(bytes, at: 20, count: 4))
            serverChallenge = Array(bytes[24..<32])
            guard bytes.count >= 48 else {
                targetInformation = []
                return
            }
            let (count, offset) = (
                NTLMMessages.number(bytes, at: 40, count: 2), NTLMMessages.number(bytes, at: 44, count: 4)
            )
            guard offset + count <= bytes.count else { return nil }
            targetInformation = Array(bytes[offset..<(offset + count)])
        }

        init(serverChallenge: [UInt8], targetInformation: [UInt8], flags: UInt32) {
            self.serverChallenge = serverChallenge
            self.targetInformation = targetInformation
            self.flags = flags
        }

        /// The server's time; `nil` if the message has none (§2.2.2.1, number 7).
        package var timestamp: [UInt8]? {
            var place = 0
            while place + 4 <= targetInformation.count {
                let kind = NTLMMessages.number(targetInformation, at: place, count: 2)
                let count = NTLMMessages.number(targetInformation, at: place + 2, count: 2)
                guard kind != 0, place + 4 + count <= targetInformation.count else { return nil }
                if kind == 7, count == 8 { return Array(targetInformation[(place + 4)..<(place + 12)]) }
                place += 4 + count
            }
            return nil
        }
    }

    /// The two responses to a challenge (§3.3.2).
    struct Responses: Equatable {
        let older: [UInt8]
        let newer: [UInt8]

        /// Computes the responses; `time` is in tenths of microseconds since 1601, as little-endian bytes.
        init(_ challenge: Challenge, _ account: Account, password: String, clientChallenge: [UInt8], time: [UInt8]) {
            let key = Hash.md5.authenticationCode(
                of: NTLMMessages.wide(account.user.uppercased() + account.domain),
                key: MD4.digest(of: NTLMMessages.wide(password)))
            let rest: [UInt8] =
                [1, 1, 0, 0, 0, 0, 0, 0] + time + clientChallenge + [0, 0, 0, 0] + challenge.targetInformation
                + [0, 0, 0, 0]
            newer = Hash.md5.authenticationCode(of: challenge.serverChallenge + rest, key: key) + rest
            let proof = Hash.md5.authenticationCode(of: challenge.serverChallenge + clientChallenge, key: key)
            // If the server sent its time, the older response (LMv2) is 24 zeros ([MS-NLMP] §3.1.5.1.2).
            older = challenge.timestamp == nil ? proof + clientChallenge : [UInt8](repeating: 0, count: 24)
        }
    }

    /// A user, with a domain if the name is `DOMAIN\user`; `user@domain` is one name.
    struct Account: Equatable {
        let domain: String
        let user: String

        init(_ name: String) {
            let parts = name.split(separator: "\\", maxSplits: 1, omittingEmptySubsequences: false)
            domain = parts.count == 2 ? String(parts[0]) : ""
            user = parts.count == 2 ? String(parts[1]) : name
        }
    }

    /// Makes the last message, which proves who the user is (§2.2.1.3).
    package static func authenticate(
        _ challenge: Challenge, _ credentials: RequestMessage.Credentials, clientChallenge: [UInt8], now: Date
    ) -> [UInt8] {
        let account = Account(credentials.user)
        let elapsed = max(0, now.timeIntervalSince1970 + 11_644_473_600)
        let time = challenge.timestamp ?? little(UInt64(elapsed * 10_000_000))
        let responses = Responses(
            challenge, account, password: credentials.password, clientChallenge: clientChallenge, time: time)
        let isWide = challenge.flags & 1 != 0
        func text(_ text: String) -> [UInt8] { isWide ? wide(text) : Array(text.utf8) }
        // The header lists these parts in this order: the two responses, domain, user, workstation and session key.
        let parts = [responses.older, responses.newer, text(account.domain), text(account.user), [], []]
        var head = signature + little(UInt32(3))
        var content: [UInt8] = []
        for part in parts {
            let count = little(UInt16(clamping: part.count))
            head += count + count + little(UInt32(64 + content.count))
            content += part
        }
        return head + little(challenge.flags & flags) + content
    }

    // MARK: Bytes

    private static func little(_ value: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }

    private static func number(_ bytes: [UInt8], at place: Int, count: Int) -> Int {
        (0..<count).reduce(0) { $0 | Int(bytes[place + $1]) << ($1 * 8) }
    }

    private static func wide(_ text: String) -> [UInt8] {
        text.utf16.flatMap { little($0) }
    }
}
