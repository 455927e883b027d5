import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Authorities")
struct AuthorityStoreTests {
    @Test("a file and a folder vouch as certificates do")
    func sources() throws {
        let testCertificates = try TestCertificates.shared
        let folder = try TemporaryFolder()
        try testCertificates.root.pem.write(to: folder.file("root.pem"), atomically: true, encoding: .utf8)
        let bundle = folder.file("bundle.txt")
        try (testCertificates.intermediate.pem + testCertificates.root.pem).write(
            to: bundle, atomically: true, encoding: .utf8)
        let chain = try Certificate.all(inPEM: try #require(testCertificates["valid"]).pem)
        for authorities in [CertificateAuthorities.file(bundle), .folder(folder.url)] {
            let trust = ServerTrust(certificates: chain, host: "localhost", authorities: authorities)
            #expect(throws: Never.self) { try trust.evaluateChain() }
        }
    }

    @Test("an unreadable authority store trusts no server, and says why")
    func unreadable() throws {
        let folder = try TemporaryFolder()
        let empty = folder.file("empty.pem")
        try Data().write(to: empty)
        let testCertificates = try TestCertificates.shared
        let chain = try Certificate.all(inPEM: testCertificates.server.pem)
        let cases: [(CertificateAuthorities, String)] = [
            (.file(folder.file("missing.pem")), "missing.pem"), (.file(empty), "empty.pem"),
            (.folder(folder.file("missing")), "missing"), (.folder(folder.url), "empty.pem"),
        ]
        for (authorities, name) in cases {
            let trust = ServerTrust(certificates: chain, host: "localhost", authorities: authorities)
            #expect {
                try trust.evaluateChain()
            } throws: { error in
                guard case TrustFailure.authoritiesUnreadable(let reason) = error else { return false }
                return reason.contains(name) && !reason.contains("(")
            }
        }
    }

    @Test("a store is made once, and again when its file is written again")
    func shared() throws {
        let testCertificates = try TestCertificates.shared
        let folder = try TemporaryFolder()
        let file = folder.file("root.pem")
        try testCertificates.root.pem.write(to: file, atomically: true, encoding: .utf8)
        func pair() throws -> (AuthorityStore, AuthorityStore) {
            (try AuthorityStore.shared(for: .file(file)), try AuthorityStore.shared(for: .file(file)))
        }
        // The tests beside this one may fill the table, which is then emptied; not each time.
        #expect(try (0..<100).contains { _ in try pair().0 === pair().1 })
        let first = try pair().1
        try FileManager.default.setAttributes([.modificationDate: Date.distantPast], ofItemAtPath: file.path)
        #expect(try AuthorityStore.shared(for: .file(file)) !== first)
    }

    @Test("a file that is replaced by one of the same time and size is read again")
    func replaced() throws {
        let testCertificates = try TestCertificates.shared
        let folder = try TemporaryFolder()
        let file = folder.file("root.pem")
        let (root, other) = (testCertificates.root.pem, testCertificates.intermediate.pem)
        let length = max(root.utf8.count, other.utf8.count)
        func write(_ pem: String) throws -> AuthorityStore {
            let padded = pem + String(repeating: "\n", count: length - pem.utf8.count)
            try padded.write(to: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.modificationDate: Date.distantPast], ofItemAtPath: file.path)
            return try AuthorityStore.shared(for: .file(file))
        }
        let digests = try [root, other, root].map { try write($0).digest }
        #expect(digests[0] != digests[1])
        #expect(digests[0] == digests[2])
        // Caches ask for the digest of the certificates that were read last.
        let authorities = CertificateAuthorities.file(file)
        #expect(authorities.contentDigest == digests[2])
        try FileManager.default.removeItem(at: file)
        #expect(authorities.contentDigest == digests[2], "not looked at")
        #expect(throws: TrustFailure.self) { try authorities.prepare() }
        let unreadable = authorities.contentDigest
        #expect(!digests.contains(unreadable ?? Data()) && unreadable == authorities.contentDigest)
        #expect(unreadable != CertificateAuthorities.file(folder.file("missing")).contentDigest)
    }

    @Test("a file of a folder that is written in place is read again")
    func replacedInFolder() throws {
        let testCertificates = try TestCertificates.shared
        let folder = try TemporaryFolder()
        let file = folder.file("root.pem")
        try testCertificates.root.pem.write(to: file, atomically: false, encoding: .utf8)
        let first = try AuthorityStore.shared(for: .folder(folder.url)).digest
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(testCertificates.intermediate.pem.utf8))
        try handle.close()
        #expect(try AuthorityStore.shared(for: .folder(folder.url)).digest != first)
    }

    @Test("authorities are told apart by their certificates, in any order and from any place")
    func contents() throws {
        let testCertificates = try TestCertificates.shared
        let folder = try TemporaryFolder()
        let pems = [testCertificates.intermediate.pem, testCertificates.root.pem]
        let (file, turned) = (folder.file("bundle.pem"), folder.file("turned.txt"))
        try pems.joined().write(to: file, atomically: true, encoding: .utf8)
        try pems.reversed().joined().write(to: turned, atomically: true, encoding: .utf8)
        let certificates = try Certificate.all(inPEM: pems.joined())
        let same: [CertificateAuthorities] = [
            .file(file), .file(turned), .folder(folder.url), .certificates(certificates),
            .certificates(certificates.reversed()),
        ]
        #expect(Set(same.map(\.contentDigest)).count == 1)
        let others: [CertificateAuthorities] = [
            .certificates([certificates[0]]), .certificates([]), .file(folder.file("missing")), .system,
        ]
        #expect(Set((same + others).map(\.contentDigest)).count == 5)
        // The environment of the tests may name authorities.
        #expect((CertificateAuthorities.system.contentDigest == nil) == CertificateAuthorities.system.areOfMachine)
    }

    @Test(
        "the environment names the system's authorities, and an empty variable names nothing",
        arguments: [
            ([:], "/etc/pki/tls/certs/ca-bundle.crt", false),
            (["SSL_CERT_FILE": "", "SSL_CERT_DIR": ""], "/etc/pki/tls/certs/ca-bundle.crt", false),
            (["SSL_CERT_FILE": "/own.pem", "SSL_CERT_DIR": "/a"], "/own.pem", true),
            (["SSL_CERT_FILE": "/etc/ssl/cert.pem"], "/etc/ssl/cert.pem", false),
            (["SSL_CERT_DIR": "/a:/b"], nil, true),
        ] as [([String: String], String?, Bool)])
    func places(environment: [String: String], file: String?, areElsewhere: Bool) {
        let places = SystemAuthorities(environment) { $0 == "/etc/pki/tls/certs/ca-bundle.crt" }
        #expect(places.file == file && places.areElsewhere == areElsewhere)
        if file == nil { #expect(places.folders == ["/a", "/b"]) }
    }

    @Test("without a bundle, the distributions' folders count")
    func folders() {
        let places = SystemAuthorities([:]) { _ in false }
        #expect(places.file == nil && places.folders == ["/etc/ssl/certs", "/etc/pki/tls/certs"])
        #expect(!places.areElsewhere)
    }

    @Test("the system's authorities can be read, and do not vouch for ours")
    func system() throws {
        try CertificateAuthorities.system.prepare()
        let trust = ServerTrust(
            certificates: try TestCertificates.trust("valid, whole").presentedCertificates, host: "localhost")
        #expect {
            try trust.evaluateChain()
        } throws: { error in
            guard case TrustFailure.untrustedRoot(let root) = error else { return false }
            return root.subject == "CN = Root"
        }
    }
}
