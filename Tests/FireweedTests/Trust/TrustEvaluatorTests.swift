import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Trust evaluators")
struct TrustEvaluatorTests {
    @Test("without pins every evaluation fails, and says so")
    func noPins() throws {
        let trust = try TestCertificates.trust("valid")
        let cases: [(any ServerTrustEvaluating, String)] = [
            (.pinnedCertificates(certificates: []), "there are no certificates to pin."),
            (.publicKeys(keys: []), "there are no keys to pin."),
            (.publicKeys(pins: []), "there are no keys to pin."),
        ]
        for (evaluator, sentence) in cases {
            #expect {
                try evaluator.evaluate(trust, forHost: trust.host)
            } throws: { error in
                error.asAFError?.isServerTrustEvaluationError == true && error.localizedDescription.contains(sentence)
            }
        }
    }

    @Test("a failed pin carries what was wanted and what was found")
    func evidence() throws {
        let trust = try TestCertificates.trust("valid")
        let other = try Certificate(pem: try #require(TestCertificates.shared["untrusted root"]).pem)
        let key = try other.publicKey
        #expect {
            try PinnedCertificatesTrustEvaluator(certificates: [other]).evaluate(trust, forHost: "localhost")
        } throws: { error in
            guard
                case AFError.serverTrustEvaluationFailed(
                    .certificatePinningFailed("localhost", _, [other], let found)) = error
            else { return false }
            return found == trust.certificates && found.count == 3
        }
        #expect {
            try PublicKeysTrustEvaluator(keys: [key]).evaluate(trust, forHost: "localhost")
        } throws: { error in
            guard case AFError.serverTrustEvaluationFailed(.publicKeyPinningFailed(_, _, [key], let found)) = error
            else { return false }
            return found.count == 3
        }
        #expect {
            try PublicKeysTrustEvaluator(pins: [key.pin]).evaluate(trust, forHost: "localhost")
        } throws: { error in
            guard
                case AFError.serverTrustEvaluationFailed(.customEvaluationFailed(let error as PublicKeyPinError)) =
                    error
            else { return false }
            return error.pins == [key.pin] && error.serverKeys.count == 3
        }
    }

    @Test("the chain's fault is the underlying error")
    func underlying() throws {
        let trust = try TestCertificates.trust("expired")
        #expect {
            try DefaultTrustEvaluator().evaluate(trust, forHost: trust.host)
        } throws: { error in
            guard case TrustFailure.expired(let certificate)? = error.asAFError?.underlyingError else { return false }
            return certificate.subject == "CN = Old" && error.localizedDescription.contains("2021-01-01T00:00:00Z")
        }
    }

    @Test("every fault of a chain has a sentence about itself")
    func sentences() throws {
        for serverChain in try TestCertificates.shared.serverChains {
            let trust = try TestCertificates.trust(serverChain.name)
            do {
                try DefaultTrustEvaluator().evaluate(trust, forHost: trust.host)
            } catch {
                let failure = try #require(error.asAFError?.trustFailure)
                #expect(error.localizedDescription == "The server is not trusted: \(failure).")
            }
        }
    }

    @Test("a bundle's certificates are found by their names, broken ones passed over")
    func bundle() throws {
        let testCertificates = try TestCertificates.shared
        let folder = try TemporaryFolder()
        let certificates = try [testCertificates.root, testCertificates.intermediate, testCertificates.server].map {
            try Certificate(pem: $0.pem)
        }
        for (name, certificate) in zip(["a.cer", "b.CRT", "c.DER"], certificates) {
            try certificate.derRepresentation.write(to: folder.file(name))
        }
        try certificates[0].derRepresentation.write(to: folder.file("d.CER"))
        try Data("broken".utf8).write(to: folder.file("e.crt"))
        try testCertificates.server.pem.write(to: folder.file("f.pem"), atomically: true, encoding: .utf8)
        let bundle = try #require(Bundle(path: folder.url.path))
        #expect(bundle.af.certificates == certificates)
        #expect(try bundle.af.publicKeys == certificates.map { try $0.publicKey })
        let names = bundle.af.paths(forResourcesOfTypes: [".cer", "CRT", ".CER", ".none", "CRT"]).map {
            URL(filePath: $0).lastPathComponent
        }
        #expect(names == ["a.cer", "b.CRT", "d.CER"])
    }
}
