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
