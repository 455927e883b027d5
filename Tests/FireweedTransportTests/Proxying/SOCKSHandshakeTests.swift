import Foundation
import Testing

@testable import FireweedTransport

@Suite("SOCKS")
struct SOCKSHandshakeTests {
    private static let name = SOCKSHandshake.Destination.name("a.example", port: 443)
    private static let address = SOCKSHandshake.Destination.address(IPAddress(bytes: [10, 0, 0, 1]), port: 80)

    private struct Course: Equatable {
        var sent: [[UInt8]] = []
        var isEstablished = false
        var rest: [UInt8] = []
        var failure: String?
    }

    private func course(_ handshake: SOCKSHandshake, _ pieces: [ArraySlice<UInt8>]) -> Course {
        var (handshake, course) = (handshake, Course())
        course.sent = [handshake.greeting]
        do {
            for piece in pieces {
                try Array(piece).withUnsafeBytes { buffer in
                    var bytes = buffer
                    reading: while true {
                        switch try handshake.next(&bytes) {
                        case .needsMore: break reading
                        case .send(let bytes): course.sent.append(bytes)
                        case .established:
                            course.isEstablished = true
                            course.rest += bytes
                            break reading
                        }
                    }
                }
            }
        } catch {
            course.failure = (error as? TransferFailure)?.urlError(failingURL: "").localizedDescription
        }
        return course
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var scheme: Proxy.Scheme
        var destination: SOCKSHandshake.Destination
        var user: String?
        var password: String?
        var answers: [UInt8]
        var sent: [[UInt8]]
    }

    @Test(
        "a tunnel is made, wherever the answers are cut, and bytes behind them are left alone",
        arguments: [
            Row(
                testDescription: "SOCKS 4", scheme: .socks4, destination: address, answers: [0, 90, 1, 2, 3, 4, 5, 6],
                sent: [[4, 1, 0, 80, 10, 0, 0, 1, 0]]),
            Row(
                testDescription: "SOCKS 4a with a user", scheme: .socks4a, destination: name, user: "me", password: "x",
                answers: [0, 90, 0, 0, 0, 0, 0, 0],
                sent: [[4, 1, 1, 187, 0, 0, 0, 1] + Array("me".utf8) + [0] + Array("a.example".utf8) + [0]]),
            Row(
                testDescription: "SOCKS 5", scheme: .socks5, destination: address,
                answers: [5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0], sent: [[5, 1, 0], [5, 1, 0, 1, 10, 0, 0, 1, 0, 80]]),
            Row(
                testDescription: "SOCKS 5h, answered with a name", scheme: .socks5h, destination: name,
                answers: [5, 0, 5, 0, 0, 3, 2, 97, 98, 0, 1],
                sent: [[5, 1, 0], [5, 1, 0, 3, 9] + Array("a.example".utf8) + [1, 187]]),
            Row(
                testDescription: "SOCKS 5 with credentials, answered with IPv6", scheme: .socks5, destination: address,
                user: "me", password: "pw", answers: [5, 2, 1, 0, 5, 0, 0, 4] + [UInt8](repeating: 0, count: 18),
                sent: [
                    [5, 2, 0, 2], [1, 2] + Array("me".utf8) + [2] + Array("pw".utf8), [5, 1, 0, 1, 10, 0, 0, 1, 0, 80],
                ]),
            Row(
                testDescription: "SOCKS 5 with an empty password", scheme: .socks5, destination: address, user: "me",
                answers: [5, 2, 1, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0],
                sent: [[5, 2, 0, 2], [1, 2] + Array("me".utf8) + [0], [5, 1, 0, 1, 10, 0, 0, 1, 0, 80]]),
            Row(
                testDescription: "SOCKS 5 that wants no credentials", scheme: .socks5, destination: address, user: "me",
                answers: [5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0], sent: [[5, 2, 0, 2], [5, 1, 0, 1, 10, 0, 0, 1, 0, 80]]),
        ])
    func established(row: Row) throws {
        let handshake = try SOCKSHandshake(row.scheme, to: row.destination, user: row.user, password: row.password)
        let bytes = row.answers + Array("TLS".utf8)
        let whole = course(handshake, [bytes[...]])
        #expect(whole == Course(sent: row.sent, isEstablished: true, rest: Array("TLS".utf8)))
        for cut in bytes.indices { #expect(course(handshake, [bytes[..<cut], bytes[cut...]]) == whole) }
        #expect(course(handshake, bytes.indices.map { bytes[$0...$0] }) == whole)
        for count in 0..<row.answers.count { #expect(!course(handshake, [bytes[..<count]]).isEstablished) }
    }

    @Test(
        "a refusal has the proxy's reason, as soon as it is known",
        arguments: [
            (Proxy.Scheme.socks4, [0, 91], "could not connect"), (.socks4, [0, 92], "identd"),
            (.socks4, [0, 93], "another"),
            (.socks4, [0, 7], "code 7"), (.socks4, [5], "not answer as a SOCKS 4"),
            (.socks5, [4], "not answer as a SOCKS 5"),
            (.socks5, [5, 255], "no user with"), (.socks5, [5, 1], "not offered"),
            (.socks5, [5, 2, 1, 1], "not accept"),
            (.socks5, [5, 2, 5], "wrongly"), (.socks5, [5, 0, 5, 1], "failed"), (.socks5, [5, 0, 5, 5], "refused"),
            (.socks5, [5, 0, 5, 8], "type of address"), (.socks5, [5, 0, 5, 9], "code 9"),
            (.socks5, [5, 0, 4], "SOCKS 5"),
            (.socks5, [5, 0, 5, 0, 0, 2], "unknown type"),
        ] as [(Proxy.Scheme, [UInt8], String)])
    func refused(scheme: Proxy.Scheme, answers: [UInt8], reason: String) throws {
        let handshake = try SOCKSHandshake(scheme, to: Self.address, user: "me", password: nil)
        let found = course(handshake, [answers[...]])
        #expect(found.failure?.contains(reason) == true, "\(found.failure ?? "accepted")")
        #expect(course(handshake, answers.indices.map { answers[$0...$0] }) == found)
    }

    @Test("what cannot be said is refused before a byte is sent")
    func limits() throws {
        let long = String(repeating: "a", count: 256)
        let most = String(repeating: "a", count: 255)
        _ = try SOCKSHandshake(.socks5h, to: .name(most, port: 1), user: most, password: most)
        let rows: [(Proxy.Scheme, SOCKSHandshake.Destination, String?, String?)] = [
            (.socks5h, .name(long, port: 1), nil, nil), (.socks4a, .name(long, port: 1), nil, nil),
            (.socks5, Self.address, long, nil), (.socks5, Self.address, "a", long), (.socks4, Self.address, long, nil),
            (.socks4, Self.name, nil, nil), (.socks4, Self.address, "a\0", nil),
            (.socks4a, .name("a\0b", port: 1), nil, nil),
            (.socks4, .address(IPAddress(bytes: [UInt8](repeating: 0, count: 16)), port: 1), nil, nil),
            (.socks5h, .name("", port: 1), nil, nil),
        ]
        for (scheme, destination, user, password) in rows {
            #expect(throws: TransferFailure.self) {
                try SOCKSHandshake(scheme, to: destination, user: user, password: password)
            }
        }
    }
}
