import FixtureServer
import Foundation
import Glibc
import Testing

@testable import FireweedCLI

@Suite("Trust options of the command", .timeLimit(.minutes(TestTimeouts.minutes)))
struct TrustCommandTests {
    let testCertificates: TestCertificates
    let server: OpenSSLServer
    let url: String

    init() throws {
        testCertificates = try TestCertificates.shared
        server = try OpenSSLServer([testCertificates.server, testCertificates.intermediate])
        url = server.url().absoluteString
    }

    private func run(
        _ arguments: String..., environment: [String: String] = [:]
    ) throws -> (output: String, errors: String, code: Int32) {
        try run(arguments, environment: environment)
    }

    private func run(
        _ arguments: [String], environment: [String: String] = [:]
    ) throws -> (output: String, errors: String, code: Int32) {
        let process = Process()
        process.executableURL = Bundle.main.bundleURL.appendingPathComponent("fireweed")
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (output, errors) = (Pipe.closedOnExec(), Pipe.closedOnExec())
        process.standardOutput = output
        process.standardError = errors
        process.standardInput = FileHandle.nullDevice
        try process.start()
        let text = String(decoding: output.fileHandleForReading.contentToEnd(), as: UTF8.self)
        let complaint = String(decoding: errors.fileHandleForReading.contentToEnd(), as: UTF8.self)
        process.waitUntilExit()
        return (text, complaint, process.terminationStatus)
    }

    @Test("--verify=no goes through and warns; --verify=FILE is an authority; --verify=yes is the default")
    func verify() throws {
        let refused = try run("--verify=yes", url)
        #expect(refused.code == 7 && refused.output.isEmpty, "\(refused)")
        #expect(try run("--verify=false", url).code == 0)
        let warned = try run("--verify=no", url)
        #expect(warned.code == 0 && warned.errors.contains("warning"), "\(warned)")
        #expect(try run("-k", url).errors.contains("warning"))
        let trusted = try run("--verify=\(testCertificates.root.certificate.path)", url)
        #expect(trusted.code == 0 && trusted.errors.isEmpty, "\(trusted)")
    }

    @Test("-k does not read the authorities, which decide nothing then")
    func unreadAuthorities() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("authorities.pem")
        try FileManager.default.copyItem(at: testCertificates.root.certificate, to: file)
        let watch = inotify_init1(Int32(IN_NONBLOCK))
        defer { close(watch) }
        #expect(inotify_add_watch(watch, file.path, UInt32(IN_OPEN)) >= 0)
        var events = [UInt8](repeating: 0, count: 4096)
        let environment = ["SSL_CERT_FILE": file.path]
        #expect(try run("-k", url, environment: environment).code == 0)
        #expect(read(watch, &events, events.count) == -1)
        // What is shown beside the certificates depends on them.
        #expect(try run("-k", "--show-cert", url, environment: environment).code == 0)
        #expect(read(watch, &events, events.count) > 0)
    }

    @Test("SSL_CERT_FILE and SSL_CERT_DIR name the authorities, and nothing when they are empty")
    func namedAuthorities() throws {
        let folder = try TemporaryFolder()
        let root = testCertificates.root.certificate
        // As openssl-rehash(1) names it; the number of the name does not matter.
        try FileManager.default.copyItem(at: root, to: folder.file("0a1b2c3d.0"))
        try Data("no certificate".utf8).write(to: folder.file("damaged.pem"))
        let several = "/missing:\(folder.url.path)"
        for environment in [
            ["SSL_CERT_FILE": root.path, "SSL_CERT_DIR": "/missing"],
            ["SSL_CERT_FILE": "", "SSL_CERT_DIR": folder.url.path], ["SSL_CERT_FILE": "", "SSL_CERT_DIR": several],
        ] {
            let trusted = try run(url, environment: environment)
            #expect(trusted.code == 0 && trusted.errors.isEmpty, "\(environment): \(trusted)")
        }
        let unread = try run(url, environment: ["SSL_CERT_FILE": "", "SSL_CERT_DIR": "/missing"])
        #expect(unread.code == 7 && unread.errors.contains("no certificates in /missing"), "\(unread)")
        #expect(unread.errors.contains("--cacert FILE"), "\(unread)")
        let ordinary = try run(url, environment: ["SSL_CERT_FILE": "", "SSL_CERT_DIR": ""])
        #expect(ordinary.code == 7 && ordinary.errors.contains("Root"), "\(ordinary)")
    }

    @Test("--pin demands a key of the chain; several are alternatives")
    func pin() throws {
        let authority = "--cacert=\(testCertificates.root.certificate.path)"
        let wrong = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        let refused = try run(authority, "--pin", wrong, url)
        #expect(refused.code == 7, "\(refused)")
        // The error names the keys that were found, so that the right one can be told.
        let found = try #require(refused.errors.firstMatch(of: /sha256\/\/[A-Za-z0-9+\/=]+/)).output
        #expect(try run(authority, "--pin", wrong, "--pin", String(found), url).code == 0)
        #expect(try run("--insecure", "--pin", String(found), url).code == 0)
        #expect(try run("--insecure", "--pin", wrong, url).code == 7)
        #expect(try run("--pin", "nonsense", url).code == 64)
    }

    @Test("%{ssl_verify_result} says whether the chain is valid, also with -k")
    func verifyResult() throws {
        let root = testCertificates.root.certificate.path
        for (options, output) in [("-k", "20"), ("", "20"), ("--cacert \(root)", "0")] {
            let result = try run("--from-curl", "curl -s \(options) -w '%{ssl_verify_result}' -o /dev/null \(url)")
            // 19 where the server sends the root.
            #expect(result.output == output || output == "20" && result.output == "19", "\(options): \(result)")
        }
    }

    @Test("--show-cert draws the chain as a tree, trusted or not")
    func showCertificate() throws {
        let trusted = try run("--cacert=\(testCertificates.root.certificate.path)", "--show-cert", url)
        #expect(trusted.code == 0)
        let lines = trusted.errors.split(separator: "\n").map(String.init)
        #expect(lines.first == "localhost: trusted")
        #expect(
            lines.contains("CN = Root") && lines.contains("└─ CN = Intermediate") && lines.contains("   └─ CN = Server")
        )
        #expect(
            trusted.errors.contains("names    DNS:localhost") && trusted.errors.contains("days left"),
            "\(trusted.errors)")
        let untrusted = try run("--show-cert", url)
        #expect(untrusted.code == 7 && untrusted.errors.hasPrefix("localhost: not trusted: "), "\(untrusted)")
        #expect(untrusted.errors.contains("└─ CN = Server"))
    }

    @Test("--tls-min refuses older versions")
    func minimumVersion() throws {
        let old = try OpenSSLServer([testCertificates.server, testCertificates.intermediate], ["-tls1_2"])
        let authority = "--cacert=\(testCertificates.root.certificate.path)"
        #expect(try run(authority, "--tls-min=1.2", old.url().absoluteString).code == 0)
        #expect(try run(authority, "--tls-min=1.3", old.url().absoluteString).code == 7)
        #expect(try run("--tls-min=1.4", url).code == 64)
    }

    @Test("--tls-max and --ssl refuse newer versions")
    func maximumVersion() throws {
        let new = try OpenSSLServer([testCertificates.server, testCertificates.intermediate], ["-tls1_3"])
        let authority = "--cacert=\(testCertificates.root.certificate.path)"
        #expect(try run(authority, "--tls-max=1.3", new.url().absoluteString).code == 0)
        for option in ["--tls-max=1.2", "--ssl=tls1.2"] {
            #expect(try run(authority, option, new.url().absoluteString).code == 7, "\(option)")
        }
    }

    @Test("--cert and --key are shown to servers that ask, in PEM and PKCS #12")
    func clientCertificate() throws {
        let issued = try testCertificates.generator.issue(
            "Client", ["extendedKeyUsage=clientAuth"], by: testCertificates.root)
        let archive = testCertificates.generator.folder.file("client-\(UUID()).p12")
        try testCertificates.generator.run([
            "pkcs12", "-export", "-in", issued.certificate.path, "-inkey", issued.key.path, "-out", archive.path,
            "-passout", "pass:secret",
        ])
        let strict = try OpenSSLServer(
            [testCertificates.server, testCertificates.intermediate],
            ["-Verify", "1", "-verify_return_error", "-CAfile", testCertificates.root.certificate.path])
        let url = strict.url().absoluteString
        let authority = "--cacert=\(testCertificates.root.certificate.path)"
        #expect(try run(authority, url).code == 7)
        let pem = try run(authority, "--cert", issued.certificate.path, "--key", issued.key.path, url)
        #expect(pem.code == 0, "\(pem)")
        #expect(try run(authority, "--cert", "\(archive.path):secret", url).code == 0)
        #expect(try run(authority, "--cert", "\(archive.path):secret", "--cert-type", "p12", url).code == 0)
        let locked = testCertificates.generator.folder.file("client-\(UUID()).key")
        try testCertificates.generator.run([
            "pkey", "-in", issued.key.path, "-aes256", "-passout", "pass:secret", "-out", locked.path,
        ])
        let encrypted = [authority, "--cert", issued.certificate.path, "--key", locked.path, "--cert-key-pass"]
        #expect(try run(encrypted + ["secret", url]).code == 0)
        #expect(try run(encrypted + ["wrong", url]).code == 64)
        let wrong = try run(authority, "--cert", "\(archive.path):wrong", url)
        #expect(wrong.code == 64 && wrong.errors.contains("certificate"), "\(wrong)")
        #expect(try run("--key", issued.key.path, url).code == 64)
        #expect(try run("--cert", "/nowhere.pem", url).code == 64)
    }

    @Test("SSLKEYLOGFILE in the environment opens no connection")
    func keyLog() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("keys.log")
        let result = try run("-k", url, environment: ["SSLKEYLOGFILE": file.path])
        #expect(result.code == 0)
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        #expect(text.isEmpty)
    }
}
