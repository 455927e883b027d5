import FixtureServer
import Foundation
import Testing

@Suite("The end of a process", .timeLimit(.minutes(3)))
struct ProcessExitTests {
    @Test("a process that ends in mid-transfer ends cleanly, 1,000 times out of 1,000")
    func exitInMidTransfer() async throws {
        let authority = try CertificateAuthority()
        let server = try FixtureServer.start()
        let secure = try NginxServer(certificate: authority.issue())
        // In clear text content flows; the handshake of the other one is under way, or refused, when the process ends.
        let arguments = [server.url("/bytes/1000000000").absoluteString, secure.secureURL?.absoluteString ?? ""]
        let probe = Bundle.main.bundleURL.appendingPathComponent("ExitProbe")
        let failures = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    var failures = 0
                    for _ in 0..<500 where await !endsCleanly(probe, arguments) { failures += 1 }
                    return failures
                }
            }
            return await group.reduce(0, +)
        }
        #expect(failures == 0)
    }

    private func endsCleanly(_ program: URL, _ arguments: [String]) async -> Bool {
        await withCheckedContinuation { continuation in
            let process = Process()
            process.executableURL = program
            process.arguments = arguments
            process.standardError = FileHandle.nullDevice
            process.terminationHandler = { ended in
                continuation.resume(returning: ended.terminationReason == .exit && ended.terminationStatus == 0)
            }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(returning: false)
            }
        }
    }
}
