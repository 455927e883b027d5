// The common part of the engine's tests over TLS.

import Dispatch
import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

/// The certificates, and options that trust them.
enum TLSStage {
    static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"

    static var chain: [CertificateGenerator.Issued] {
        get throws {
            let testCertificates = try TestCertificates.shared
            return [testCertificates.server, testCertificates.intermediate]
        }
    }

    /// Whether handshakes find their loop busy, so that another thread makes their steps.
    @TaskLocal static var isBusy = false

    /// Plays on a transport that trusts the test certificates' root.
    static func play(
        limit: Int = 6, _ change: (inout TransportOptions) -> Void = { _ in },
        _ body: (EngineStage) async throws -> Void
    ) async throws {
        let root = try Certificate(pem: TestCertificates.shared.root.pem)
        try await EngineStage.play(
            limit: limit,
            {
                $0.certificateAuthorities = .certificates([root])
                change(&$0)
            }
        ) { stage in
            guard isBusy else { return try await body(stage) }
            let loop = try #require(stage.transport.executor as? EventLoop)
            let entry = await withCheckedContinuation { continuation in
                loop.post { context in
                    context.offloadedSteps.areForced = true
                    continuation.resume(returning: context.offloadedSteps.begin(at: context.now))
                }
            }
            defer { loop.post { $0.offloadedSteps.end(entry, at: $0.now) } }
            try await body(stage)
        }
    }
}

/// Runs each test of a suite twice: the steps of its handshakes are made on the loop's thread, then on other threads.
struct OnBothThreads: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await function()
        try await TLSStage.$isBusy.withValue(true, operation: function)
    }
}

/// A rule of trust that waits for the test.
final class HeldRule: Sendable {
    struct Refused: Error {}

    /// The hosts that were asked about.
    let asked = EventLog<String>()
    private let gate = DispatchGroup()
    private let accepts: Bool

    init(accepts: Bool) {
        self.accepts = accepts
        gate.enter()
    }

    /// Lets the verdict be made, now and later.
    func decide() { gate.leave() }

    var rules: ServerTrustRules {
        ServerTrustRules(mayWait: { _ in true }) { [self] trust in
            asked.note(trust.host)
            gate.wait()
            guard accepts else { throw Refused() }
        }
    }
}
