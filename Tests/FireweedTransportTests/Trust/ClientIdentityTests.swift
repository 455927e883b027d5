import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Client identities")
struct ClientIdentityTests {
    private static let secret = "open sesame, täglich"
    private let testCertificates: TestCertificates
    private let folder: TemporaryFolder

    init() throws {
        testCertificates = try TestCertificates.shared
        folder = try TemporaryFolder()
    }

    @Test("PEM files, with intermediates after the certificate")
    func pem() throws {
        let chain = folder.file("chain.pem")
        try (testCertificates.server.pem + testCertificates.intermediate.pem).write(
            to: chain, atomically: true, encoding: .utf8)
        let identity = ClientIdentity(certificate: chain, privateKey: testCertificates.server.key)
        try identity.validate()
        #expect(try identity.certificates.map(\.subject) == ["CN = Server", "CN = Intermediate"])
    }

    @Test("an encrypted key opens with its passphrase alone")
    func encrypted() throws {
        let key = folder.file("encrypted.key")
        try testCertificates.generator.run([
            "pkcs8", "-topk8", "-in", testCertificates.server.key.path, "-out", key.path, "-passout",
            "pass:\(Self.secret)",
        ])
        func identity(_ passphrase: String?) -> ClientIdentity {
            ClientIdentity(certificate: testCertificates.server.certificate, privateKey: key, passphrase: passphrase)
        }
        try identity(Self.secret).validate()
        #expect(throws: ClientIdentityError.missingPassphrase(key)) { try identity(nil).validate() }
        #expect(throws: ClientIdentityError.wrongPassphrase(key)) { try identity("wrong").validate() }
        #expect(throws: ClientIdentityError.wrongPassphrase(key)) { try identity("").validate() }
    }

    @Test("PKCS #12 opens with its passphrase alone, and brings its intermediates")
    func pkcs12() throws {
        let archive = folder.file("client.p12")
        try testCertificates.generator.run([
            "pkcs12", "-export", "-inkey", testCertificates.server.key.path, "-in",
            testCertificates.server.certificate.path, "-certfile",
            testCertificates.intermediate.certificate.path, "-out", archive.path, "-passout", "pass:\(Self.secret)",
        ])
        let identity = ClientIdentity(pkcs12: archive, passphrase: Self.secret)
        #expect(try identity.certificates.map(\.subject) == ["CN = Server", "CN = Intermediate"])
        #expect(throws: ClientIdentityError.wrongPassphrase(archive)) {
            try ClientIdentity(pkcs12: archive, passphrase: "wrong").validate()
        }
    }

    @Test("what cannot be used says why")
    func unusable() throws {
        let nothing = folder.file("nothing.pem")
        try Data("nothing".utf8).write(to: nothing)
        let (server, other) = (testCertificates.server, testCertificates.intermediate)
        #expect(throws: ClientIdentityError.mismatchedKey(certificate: try Certificate(pem: server.pem))) {
            try ClientIdentity(certificate: server.certificate, privateKey: other.key).validate()
        }
        #expect(throws: ClientIdentityError.noCertificate(server.key)) {
            try ClientIdentity(certificate: server.key, privateKey: server.key).validate()
        }
        #expect(throws: ClientIdentityError.noPrivateKey(server.certificate)) {
            try ClientIdentity(certificate: server.certificate, privateKey: server.certificate).validate()
        }
        #expect {
            try ClientIdentity(pkcs12: nothing, passphrase: "").validate()
        } throws: { error in
            guard case ClientIdentityError.malformedFile(nothing, _) = error else { return false }
            return true
        }
        let missing = folder.file("missing.pem")
        for identity in [
            ClientIdentity(certificate: missing, privateKey: server.key),
            ClientIdentity(pkcs12: missing, passphrase: ""),
            ClientIdentity(certificate: server.certificate, privateKey: missing),
        ] {
            #expect {
                try identity.validate()
            } throws: { error in
                guard case ClientIdentityError.unreadableFile(missing, _) = error else { return false }
                return true
            }
        }
    }

    @Test("no way of printing shows the passphrase")
    func secrets() {
        let identity = ClientIdentity(pkcs12: URL(fileURLWithPath: "/a.p12"), passphrase: Self.secret)
        var dumped = ""
        dump([identity], to: &dumped)
        for text in ["\(identity)", String(reflecting: identity), "\([identity])", dumped] {
            #expect(!text.contains("sesame"))
            #expect(text.contains("a.p12"))
        }
    }
}
