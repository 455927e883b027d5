// Steps of TLS handshakes on other threads than the loops': slow signatures, and many handshakes at once.

import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Steps of TLS handshakes on other threads", OnBothThreads(), .timeLimit(.minutes(TestTimeouts.minutes)))
struct OffloadedStepTests {
    private let certificates: TestCertificates
    private let identity: ClientIdentity

    init() throws {
        certificates = try TestCertificates.shared
        let client = try certificates.generator.issue(
            "Client", ["extendedKeyUsage=clientAuth"], by: certificates.root, key: .rsa2048)
        identity = ClientIdentity(certificate: client.certificate, privateKey: client.key)
    }

    private func peer(isLimitedToTLS12: Bool = false, clients: URL? = nil) throws -> SecurePeer {
        let answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello"
        return try SecurePeer(
            TLSStage.chain, role: .answering(answer), isLimitedToTLS12: isLimitedToTLS12,
            clientAuthority: clients ?? certificates.root.certificate)
    }

    /// The CPU time of the threads for handshakes, in nanoseconds.
    private static var offLoopTime: Int {
        let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        let times = tasks.compactMap { task -> Int? in
            let folder = "/proc/self/task/\(task)"
            guard let name = try? String(contentsOfFile: "\(folder)/comm", encoding: .utf8), name == "fireweed-tls\n",
                let times = try? String(contentsOfFile: "\(folder)/schedstat", encoding: .utf8)
            else { return nil }
            return times.split(separator: " ").first.flatMap { Int($0) }
        }
        return times.reduce(0, +)
    }

    @Test("a key of RSA signs on a thread of its own, and the handshake goes on", arguments: [true, false])
    func signed(isLimitedToTLS12: Bool) async throws {
        let peer = try peer(isLimitedToTLS12: isLimitedToTLS12)
        var (time, known) = (0, Self.offLoopTime)
        // A signature takes half a millisecond at least; the rest of the step takes hundredths of one. A thread whose
        // time is gone has ended, which a slow machine sees.
        for round in 0..<100 where round < 5 || time < 10_000_000 {
            // A transport of its own resumes no session.
            try await TLSStage.play({ $0.clientIdentity = identity }) { stage in
                let transfer = try await stage.end(peer.url())
                #expect(transfer.code == nil, "\(transfer.failureText)")
                #expect(transfer.record.content == Data("hello".utf8))
            }
            let now = Self.offLoopTime
            time += max(0, now - known)
            known = now
        }
        #expect(time >= 10_000_000)
    }

    @Test(
        "the server's messages come in any pieces, and may end anywhere",
        arguments: [(true, 61), (true, 600), (false, 61), (false, 600)])
    func pieces(row: (isLimitedToTLS12: Bool, piece: Int)) async throws {
        let peer = try peer(isLimitedToTLS12: row.isLimitedToTLS12)
        let cuts = Array(stride(from: 150, to: 2600, by: 97))
        let relay = try SecureRelay(to: peer.port, cuts: cuts, piece: row.piece)
        try await TLSStage.play({ $0.clientIdentity = identity }) { stage in
            for cut in cuts {
                let transfer = try await stage.end(relay.url(for: peer.url()))
                let codes: [URLError.Code?] = [.secureConnectionFailed, .networkConnectionLost, nil]
                #expect(codes.contains(transfer.code), "\(cut) bytes: \(transfer.failureText)")
                #expect(transfer.record.content == (transfer.code == nil ? Data("hello".utf8) : Data()))
            }
            #expect(try await stage.end(relay.url(for: peer.url())).code == nil)
        }
    }

    @Test("bytes behind the server's last message fail the handshake, and are bounded", arguments: [true, false])
    func junk(isLimitedToTLS12: Bool) async throws {
        let peer = try peer(isLimitedToTLS12: isLimitedToTLS12)
        let cuts = Array(stride(from: 150, to: 2600, by: 61))
        let relay = try SecureRelay(to: peer.port, cuts: cuts, junk: 600_000)
        try await TLSStage.play({ $0.clientIdentity = identity }) { stage in
            var failureCount = 0
            for cut in cuts {
                let transfer = try await stage.end(relay.url(for: peer.url()))
                // Beyond the handshake the response may be whole before the rest comes.
                let isWhole = transfer.code == nil && transfer.record.content == Data("hello".utf8)
                #expect(isWhole || transfer.code != nil, "\(cut) bytes")
                if !isWhole { failureCount += 1 }
            }
            #expect(failureCount >= 10)
            #expect(try await stage.end(relay.url(for: peer.url())).code == nil)
        }
    }

    @Test("many handshakes sign at once, and those that are cancelled meanwhile end")
    func cancelled() async throws {
        let peer = try peer()
        try await TLSStage.play({ $0.clientIdentity = identity }) { stage in
            let transfers = (0..<40).map { _ in stage.transfer(peer.url()) }
            for transfer in transfers { transfer.start() }
            try await peer.waits(for: 3, of: "connected")
            for (number, transfer) in transfers.enumerated() where number.isMultiple(of: 2) { transfer.cancel() }
            for (number, transfer) in transfers.enumerated() {
                let end = try await transfer.end()
                if number.isMultiple(of: 2) {
                    #expect(end.isCancelled || end.failure == nil)
                } else {
                    #expect(end.failure == nil, "\(transfer.failureText)")
                }
            }
        }
    }

    @Test("many handshakes at once leave the loop to other work, and each ends by itself", arguments: [true, false])
    func manyAtOnce(isLimitedToTLS12: Bool) async throws {
        let peer = try SecurePeer(TLSStage.chain, role: .answering(TLSStage.ok), isLimitedToTLS12: isLimitedToTLS12)
        let known = Self.offLoopTime
        try await TLSStage.play(limit: 40) { stage in
            let transfers = (0..<40).map { _ in stage.transfer(peer.url()) }
            for transfer in transfers { transfer.start() }
            for transfer in transfers {
                try await transfer.end()
                #expect(transfer.code == nil, "\(transfer.failureText)")
            }
        }
        #expect(Self.offLoopTime != known)
    }

    @Test("the other threads get a few steps until it is known how they get on")
    func trial() {
        var steps = OffloadedSteps()
        let entries = (0..<8).map { _ in
            #expect(steps.getOn(at: 5))
            return steps.begin(at: 5)
        }
        #expect(!steps.getOn(at: 5))
        steps.end(entries[0], at: 9)
        for _ in 0..<1000 { _ = steps.begin(at: 9) }
        #expect(steps.getOn(at: 9))
    }

    @Test(
        "the other threads get on while steps end, each in a short time, and slow ones are remembered for a second",
        arguments: [
            (8, 1, 0, true), (9, 1, 0, false), (15, 2, 0, true), (17, 2, 0, false), (1, 1, 20, true),
            (1, 1, 21, false), (9, 1, 999, false), (9, 1, 1000, true),
        ])
    func gettingOn(milliseconds: LoopInstant, place: Int, later: LoopInstant, isSo: Bool) {
        let end = 7 + milliseconds * 1_000_000
        var steps = OffloadedSteps()
        let entries = (0..<3).map { _ in steps.begin(at: 7) }
        steps.end(entries[place - 1], at: end)
        #expect(steps.count == 2 && steps.getOn(at: end + later * 1_000_000) == isSo)
    }

    @Test("a server that refuses the signed certificate is the failure", arguments: [true, false])
    func refused(isLimitedToTLS12: Bool) async throws {
        let stranger = try certificates.generator.issue("Stranger", CertificateGenerator.authority)
        let peer = try peer(isLimitedToTLS12: isLimitedToTLS12, clients: stranger.certificate)
        try await TLSStage.play({ $0.clientIdentity = identity }) { stage in
            for _ in 0..<10 {
                let transfer = try await stage.end(peer.url())
                #expect(transfer.code == .clientCertificateRejected, "\(transfer.failureText)")
            }
        }
    }
}
