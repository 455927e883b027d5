import FixtureServer
import Foundation
import Testing

@testable import FireweedTransport

@Suite("Certificates")
struct CertificateTests {
    private let testCertificates: TestCertificates

    init() throws {
        testCertificates = try TestCertificates.shared
    }

    @Test("every field is read")
    func fields() throws {
        let certificate = try Certificate(pem: testCertificates.server.pem)
        #expect(certificate.subject == "CN = Server")
        #expect(certificate.issuer == "CN = Intermediate")
        #expect(certificate.subjectAlternativeNames == [.dns("localhost")])
        #expect(!certificate.isSelfIssued)
        #expect(certificate.signatureAlgorithm == "ecdsa-with-SHA256")
        #expect(!certificate.serialNumber.isEmpty)
        #expect(certificate.notBefore <= Date.now)
        #expect(certificate.notAfter.timeIntervalSince(certificate.notBefore) == 30 * 86400)
        #expect(certificate.sha256Fingerprint.count == 64)
        #expect(try certificate.publicKey.algorithm == "EC")
        #expect(try certificate.publicKey.bitCount == 256)
        #expect(try Certificate(pem: testCertificates.root.pem).isSelfIssued)
    }

    @Test("dates are those of the certificate")
    func dates() throws {
        let serverChain = try #require(testCertificates["expired"])
        let certificate = try Certificate(pem: serverChain.pem)
        #expect(certificate.notBefore == Date(timeIntervalSince1970: 1_577_836_800))
        #expect(certificate.notAfter == Date(timeIntervalSince1970: 1_609_459_200))
    }

    @Test("the last certificates are parsed once, also by threads at the same time, and others anew")
    func parsedOnce() async throws {
        let certificates = try [
            Certificate(pem: testCertificates.server.pem), Certificate(pem: testCertificates.root.pem),
        ]
        // Other tests of the process may fill the memory between two calls, but not between all of them.
        #expect((0..<1_000).contains { _ in certificates[0].parsed === certificates[0].parsed })
        #expect(certificates[0].parsed !== certificates[1].parsed)
        #expect(ParsedCertificate.known(Data("no certificate".utf8)) == nil)
        #expect(ParsedCertificate.known(certificates[0].derRepresentation + [0]) == nil)
        let subjects = await withTaskGroup(of: String.self) { group in
            for number in 0..<400 { group.addTask { certificates[number % 2].subject } }
            return await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(subjects == Set(certificates.map(\.subject)))
        // More certificates than are remembered; their signatures differ.
        var der = certificates[0].derRepresentation
        for number in UInt8(0)..<200 {
            der[der.endIndex - 1] = number
            let made = try #require(ParsedCertificate.known(der))
            #expect(made.subject == "CN = Server" && made.der == der)
        }
        #expect(certificates[1].subject == certificates[1].issuer)
    }

    @Test("the openssl command reads the same")
    func judge() throws {
        let certificate = try Certificate(pem: testCertificates.server.pem)
        let file = testCertificates.generator.folder.file("\(UUID()).pub")
        try testCertificates.generator.run([
            "x509", "-in", testCertificates.server.certificate.path, "-pubkey", "-noout", "-out", file.path,
        ])
        let pem = try String(contentsOf: file, encoding: .utf8)
        #expect(try PublicKey(pem: pem) == certificate.publicKey)
        let der = testCertificates.generator.folder.file("\(UUID()).der")
        try testCertificates.generator.run([
            "x509", "-in", testCertificates.server.certificate.path, "-outform", "DER", "-out", der.path,
        ])
        #expect(try Data(contentsOf: der) == certificate.derRepresentation)
        #expect(try Certificate(contentsOf: der) == certificate)
        #expect(try Certificate(contentsOf: testCertificates.server.certificate) == certificate)
        #expect(try Certificate(pem: certificate.pem) == certificate)
        #expect(try PublicKey(der: certificate.publicKey.subjectPublicKeyInfo) == certificate.publicKey)
    }

    @Test("it prints what people ask about, and on one line whose it is")
    func prints() throws {
        let certificate = try Certificate(pem: testCertificates.server.pem)
        #expect("\(certificate)" == "Certificate of CN = Server, issued by CN = Intermediate")
        let text = certificate.debugDescription
        for part in ["DNS:localhost", "EC, 256 bits, sha256//", certificate.sha256Fingerprint, "ecdsa-with-SHA256"] {
            #expect(text.contains(part))
        }
    }

    @Test("a bundle gives every certificate in its order, whatever stands between them")
    func bundle() throws {
        let key = try String(contentsOf: testCertificates.server.key, encoding: .utf8)
        let text = "Root:\n\(testCertificates.root.pem)\r\n\(key)\nServer:\r\n"
        let crlf = testCertificates.server.pem.replacingOccurrences(of: "\n", with: "\r\n")
        let all = try Certificate.all(inPEM: text + crlf)
        #expect(all.map(\.subject) == ["CN = Root", "CN = Server"])
        #expect(try Certificate.all(inPEM: key).isEmpty)
        #expect(try Certificate.all(inPEM: "").isEmpty)
    }

    @Test(
        "malformed text is refused with its reason",
        arguments: [
            ("", CertificateError.noCertificateInPEM),
            ("no certificate", .noCertificateInPEM),
            ("-----BEGIN CERTIFICATE-----\nAAAA", .malformedPEM),
            ("-----BEGIN CERTIFICATE-----\n****\n-----END CERTIFICATE-----", .malformedPEM),
            ("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----", .malformedDER),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", .malformedDER),
        ])
    func malformed(text: String, expected: CertificateError) {
        #expect(throws: expected) { try Certificate(pem: text) }
    }

    @Test("DER that is cut short, or has trailing bytes, is refused", arguments: [0, 1, 2, 10, 200, -1])
    func truncated(count: Int) throws {
        let der = try Certificate(pem: testCertificates.server.pem).derRepresentation
        let bytes = count < 0 ? der + [0] : der.prefix(count)
        #expect(throws: CertificateError.malformedDER) { try Certificate(der: bytes) }
        #expect(throws: CertificateError.unreadablePublicKey) { try PublicKey(der: bytes) }
    }

    @Test("no single changed byte traps")
    func changedBytes() throws {
        let der = try Certificate(pem: testCertificates.server.pem).derRepresentation
        var readable = 0
        for index in der.indices {
            var bytes = der
            bytes[index] ^= 0xFF
            guard let certificate = try? Certificate(der: bytes) else { continue }
            readable += certificate.debugDescription.isEmpty ? 0 : 1
            _ = certificate.isValid(forHost: "localhost")
        }
        #expect(readable > 0)
    }

    @Test("a folder gives the certificates of its files, each once, in the order of names")
    func folder() throws {
        let folder = try TemporaryFolder()
        try testCertificates.server.pem.write(to: folder.file("b.CRT"), atomically: true, encoding: .utf8)
        try Certificate(pem: testCertificates.root.pem).derRepresentation.write(to: folder.file("a.der"))
        try testCertificates.root.pem.write(to: folder.file("c.cer"), atomically: true, encoding: .utf8)
        try testCertificates.intermediate.pem.write(to: folder.file("d.txt"), atomically: true, encoding: .utf8)
        try FileManager.default.createDirectory(at: folder.file("e.crt"), withIntermediateDirectories: false)
        #expect(try Certificate.all(in: folder.url).map(\.subject) == ["CN = Root", "CN = Server"])
        try Data("nothing".utf8).write(to: folder.file("f.crt"))
        #expect {
            try Certificate.all(in: folder.url)
        } throws: { error in
            guard case CertificateError.malformedFile(let url, .malformedDER) = error else { return false }
            return url.lastPathComponent == "f.crt"
        }
    }

    @Test("a missing file and a missing folder are named")
    func missing() throws {
        let nowhere = URL(fileURLWithPath: "/nowhere/at-all.crt")
        for read in [{ _ = try Certificate(contentsOf: nowhere) }, { _ = try Certificate.all(in: nowhere) }] {
            #expect {
                try read()
            } throws: { error in
                guard case CertificateError.unreadableFile(nowhere, _) = error else { return false }
                return true
            }
        }
    }

    @Test(
        "pins are read as curl writes them",
        arguments: [
            ("sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", true),
            ("sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", true),
            ("sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hS", false),  // 30 bytes
            ("sha1//2jmj7l5rSw0yVb/vlWAYkK/YBwk=", false),
            ("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", false),
            ("sha256//", false), ("", false),
        ])
    func pins(text: String, isPin: Bool) throws {
        if isPin {
            #expect(try PublicKeyPin(text).description == "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
        } else {
            #expect(throws: CertificateError.malformedPin(text)) { try PublicKeyPin(text) }
        }
    }
}
