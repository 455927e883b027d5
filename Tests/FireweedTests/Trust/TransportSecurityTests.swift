import Fireweed
import FixtureServer
import Foundation
import Testing

@Suite("Transport security options", .timeLimit(.minutes(TestTimeouts.minutes)))
struct TransportSecurityTests {
    private static let made = Result {
        let testCertificates = try TestCertificates.shared
        let names = "subjectAltName=DNS:localhost,DNS:a.localhost,DNS:b.localhost"
        let leaf = try testCertificates.generator.issue(
            "Names", [names, "extendedKeyUsage=serverAuth"], by: testCertificates.intermediate)
        return (testCertificates, [leaf, testCertificates.intermediate])
    }

    private let testCertificates: TestCertificates
    private let chain: [CertificateGenerator.Issued]
    private let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"

    init() throws {
        (testCertificates, chain) = try Self.made.get()
    }

    private func session(_ change: (inout TransportOptions) -> Void = { _ in }) -> Session {
        var options = TransportOptions()
        options.certificateAuthorities = .file(testCertificates.root.certificate)
        change(&options)
        return Session.isolated(transportOptions: options)
    }

    @Test("a certificate that was replaced in its place resumes no TLS session of the former one")
    func rotated() async throws {
        let folder = try TemporaryFolder()
        let (certificate, key) = (folder.file("me.pem"), folder.file("me.key"))
        func use(_ name: String) throws {
            let issued = try testCertificates.generator.issue(
                name, ["extendedKeyUsage=clientAuth"], by: testCertificates.root)
            try Data(contentsOf: issued.certificate).write(to: certificate)
            try Data(contentsOf: issued.key).write(to: key)
        }
        let peer = try SecurePeer(chain, role: .answering(ok), clientAuthority: testCertificates.root.certificate)
        let session = session { $0.clientIdentity = ClientIdentity(certificate: certificate, privateKey: key) }
        for name in ["Alice", "Alice", "Bob", "Bob"].enumerated() {
            if name.offset % 2 == 0 { try use(name.element) }
            let response = await session.request("https://localhost:\(peer.port)/").serializingString().response
            #expect(response.value == "ok", "\(name): \(String(describing: response.error))")
        }
        let handshakes = peer.events.events.compactMap { line -> Substring? in
            let words = line.split(separator: " ")
            return words.first == "connected" && words.count > 2 ? words[2] : nil
        }
        #expect(handshakes == ["new", "resumed", "new", "resumed"])
    }

    @Test("after the file of the authorities was replaced, a server is judged anew")
    func replacedAuthorities() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("authorities.pem")
        func use(_ issued: CertificateGenerator.Issued) throws {
            try issued.pem.write(to: file, atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.modificationDate: Date.distantPast], ofItemAtPath: file.path)
        }
        let stranger = try testCertificates.generator.issue("Stranger", ["basicConstraints=critical,CA:TRUE"], by: nil)
        let peer = try SecurePeer(chain, role: .answering(ok))
        let session = session { $0.certificateAuthorities = .file(file) }
        var results: [Bool] = []
        for authority in [testCertificates.root, testCertificates.root, stranger, testCertificates.root] {
            try use(authority)
            let response = await session.request("https://localhost:\(peer.port)/").serializingString().response
            results.append(response.value == "ok")
        }
        #expect(results == [true, true, false, true])
    }

    @Test("in a session with a cache, no connection of a certificate serves the one that has replaced it")
    func rotatedOnKeptConnections() async throws {
        let folder = try TemporaryFolder()
        let (certificate, key) = (folder.file("me.pem"), folder.file("me.key"))
        let kept = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        let peer = try SecurePeer(
            chain, role: .answering(kept), clientAuthority: testCertificates.root.certificate)
        var options = TransportOptions()
        options.certificateAuthorities = .file(testCertificates.root.certificate)
        options.clientIdentity = ClientIdentity(certificate: certificate, privateKey: key)
        let session = Session(
            configuration: .af.ephemeral, transportOptions: options,
            options: SessionOptions(responseStore: MemoryResponseStore()))
        for (number, name) in ["Alice", "Bob"].enumerated() {
            let issued = try testCertificates.generator.issue(
                name, ["extendedKeyUsage=clientAuth"], by: testCertificates.root)
            try Data(contentsOf: issued.certificate).write(to: certificate)
            try Data(contentsOf: issued.key).write(to: key)
            for _ in 0..<2 {
                let response = await session.request("https://localhost:\(peer.port)/").serializingString().response
                #expect(response.value == "ok", "\(name): \(String(describing: response.error))")
            }
            let connections = peer.events.events.filter { $0.hasPrefix("connected ") }
            #expect(
                connections.count == number + 1 && connections.allSatisfy { $0.contains(" new ") }, "\(connections)")
        }
    }

    @Test("each host sees the identity that is for it, or none")
    func identities() async throws {
        let issued = try testCertificates.generator.issue(
            "Client", ["extendedKeyUsage=clientAuth"], by: testCertificates.root)
        let identity = ClientIdentity(certificate: issued.certificate, privateKey: issued.key)
        let peer = try SecurePeer(chain, role: .answering(ok), clientAuthority: testCertificates.root.certificate)
        func error(_ session: Session, _ host: String) async -> AFError? {
            await session.request("https://\(host):\(peer.port)/").serializingData().response.error
        }
        // In TLS 1.3 the refusal comes when the request has left, and may lose the race against the connection's reset.
        let refusals: [URLError.Code?] = [.clientCertificateRequired, .networkConnectionLost]
        let one = session { $0.clientIdentities = ["A.localhost": identity] }
        #expect(await error(one, "a.localhost") == nil)
        #expect(refusals.contains(await error(one, "b.localhost")?.urlErrorCode))
        let allButOne = session {
            $0.clientIdentity = identity
            $0.clientIdentities = ["b.localhost": nil]
        }
        #expect(await error(allButOne, "a.localhost") == nil)
        #expect(refusals.contains(await error(allButOne, "b.localhost")?.urlErrorCode))
        let broken = session {
            $0.clientIdentity = ClientIdentity(certificate: URL(filePath: "/nowhere.pem"), privateKey: issued.key)
        }
        #expect(await error(broken, "a.localhost")?.urlErrorCode == .clientCertificateRejected)
    }

    @Test("without ALPN no version of HTTP is offered")
    func protocols() async throws {
        let peer = try SecurePeer(chain, role: .answering(ok))
        let silent = session { $0.offersALPN = false }
        _ = await silent.request(peer.url()).serializingData().response
        let connected = try await peer.events.first { $0.hasPrefix("connected") && $0.hasSuffix("None") }
        #expect(connected.contains("new"))
    }

    @Test("ciphers are those of the lists, and a list of none fails")
    func ciphers() async throws {
        let server = try OpenSSLServer(chain)
        let twelve = session {
            $0.maximumTLSVersion = .tls12
            $0.cipherList = "ECDHE-ECDSA-AES256-GCM-SHA384"
        }
        let old = await twelve.request(server.url()).serializingData().response
        #expect(
            old.metrics?.transactionMetrics.last?.negotiatedTLSCipherSuite == "ECDHE-ECDSA-AES256-GCM-SHA384", "\(old)")
        let thirteen = session { $0.cipherSuites = "TLS_CHACHA20_POLY1305_SHA256" }
        let new = await thirteen.request(server.url()).serializingData().response
        #expect(
            new.metrics?.transactionMetrics.last?.negotiatedTLSCipherSuite == "TLS_CHACHA20_POLY1305_SHA256", "\(new)")
        let none = session { $0.cipherList = "NONSENSE" }
        let error = await none.request(server.url()).serializingData().response.error
        #expect(error?.urlErrorCode == .secureConnectionFailed, "\(String(describing: error))")
    }

    @Test("secrets of connections are logged where code asks for it, for this user alone")
    func keyLog() async throws {
        let folder = try TemporaryFolder()
        let server = try OpenSSLServer(chain)
        let logging = session { $0.keyLogFile = folder.file("keys.log") }
        #expect(await logging.request(server.url()).serializingData().response.error == nil)
        let text = try String(contentsOf: folder.file("keys.log"), encoding: .utf8)
        #expect(text.contains("CLIENT_TRAFFIC_SECRET_0 ") && text.hasSuffix("\n"))
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file("keys.log").path)[.posixPermissions]
        #expect((mode as? NSNumber)?.intValue == 0o600)
    }
}
