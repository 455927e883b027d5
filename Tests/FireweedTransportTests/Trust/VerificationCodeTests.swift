import FixtureServer
import Testing

@testable import FireweedTransport

@Suite("OpenSSL's verdicts")
struct VerificationCodeTests {
    @Test("every code that OpenSSL 3 has becomes a failure of its own kind, or is known as internal", arguments: 1...94)
    func everyCode(rawValue: Int) throws {
        let code = VerificationCode(rawValue: Int32(rawValue))
        let certificate = try Certificate(pem: TestCertificates.shared.server.pem)
        let isInternal =
            if case .internalFailure(rawValue, _) = code.failure(at: certificate) { true } else { false }
        #expect(isInternal == VerificationCode.internalCodes.contains(code.rawValue))
        #expect(code.failure(at: nil) == .internalFailure(code: rawValue, reason: code.text))
        #expect(!code.failure(at: certificate).description.isEmpty)
    }

    @Test("OpenSSL has no more codes than that", arguments: [95, 96, 1000])
    func noMore(rawValue: Int) {
        #expect(VerificationCode(rawValue: Int32(rawValue)).text.contains("unknown certificate verification error"))
    }
}
