import FixtureServer
import Foundation
import Testing

@testable import Fireweed
@testable import FireweedFleet
@testable import FireweedTesting
@testable import FireweedTransport

/// Every error type of the list of public declarations, and every case of each, has an example here.
@Suite("The words of public errors", .timeLimit(.minutes(TestTimeouts.minutes)))
struct PublicErrorTests {
    private static let file = URL(fileURLWithPath: "/folder/file.txt")

    private static let chain: [any Error] = {
        guard let trust = try? TestCertificates.trust("valid"), let certificate = trust.certificates.first else {
            return []
        }
        let failures: [TrustFailure] = [
            .authoritiesUnreadable(reason: "no"), .expired(certificate), .forbiddenName(certificate),
            .hostMismatch(host: "h.example", names: []), .internalFailure(code: 1, reason: "no"),
            .invalidAuthority(certificate), .invalidSignature(certificate), .malformed(certificate, reason: "no"),
            .noCertificate, .notYetValid(certificate), .revoked(certificate), .selfSigned(certificate),
            .unknownIssuer(certificate), .unknownRevocation(certificate, reason: "no"),
            .unsuitablePurpose(certificate), .untrustedRoot(certificate), .weakKey(certificate),
            .weakSignature(certificate),
        ]
        return (failures as [any Error]) + [
            ClientIdentityError.mismatchedKey(certificate: certificate),
            PublicKeyPinError(host: "h.example", trust: trust, pins: [], serverKeys: []),
        ]
    }()

    private static let transport: [any Error] = [
        CertificateError.malformedDER, CertificateError.noCertificateInPEM, CertificateError.malformedPEM,
        CertificateError.unreadablePublicKey, CertificateError.unreadableFile(file, reason: "no"),
        CertificateError.malformedFile(file, .malformedDER), CertificateError.malformedPin("pin"),
        ClientIdentityError.unreadableFile(file, reason: "no"), ClientIdentityError.noCertificate(file),
        ClientIdentityError.noPrivateKey(file), ClientIdentityError.missingPassphrase(file),
        ClientIdentityError.wrongPassphrase(file), ClientIdentityError.malformedFile(file, reason: "no"),
        ClientIdentityError.refused(reason: "no"), RevocationList.Malformed(), BodyLengthError(missingByteCount: 3),
        MissingAbility.serverTrust, MissingAbility.webSockets, TransferFailure.cancelled,
        TransferFailure.exchange(.timedOut, detail: "nothing came", engineCode: 0),
        TransferFailure.refused(.bodyBytes(limit: 3)), TransferFailure.reported(POSIXError(.EACCES)),
        TransferFailure.unreadableBody(POSIXError(.EACCES)), TransferFailure.untrusted(TrustFailure.noCertificate),
        TransferRefusal.address(IPAddress(bytes: [127, 0, 0, 1])), TransferRefusal.bodyBytes(limit: 3),
        TransferRefusal.expansion(limit: 3), TransferRefusal.framingBytes(limit: 3),
        TransferRefusal.headerBytes(limit: 3), TransferRefusal.headerFields(limit: 3),
        TransferRefusal.interimResponses(limit: 3),
    ]

    private static let requests: [any Error] = [
        AFError.explicitlyCancelled, AFError.UnexpectedInputStreamLength(bytesExpected: 3, bytesRead: 2),
        AuthenticationError.excessiveRefresh, AuthenticationError.missingCredential,
        CURLParsingError.conflictingOptions("-I", "-d"), CURLParsingError.fileNotRead(option: "-d", path: "/a"),
        CURLParsingError.invalidURL("no url"), CURLParsingError.invalidValue(option: "-m", value: "x"),
        CURLParsingError.missingURL, CURLParsingError.missingValue(option: "-d"), CURLParsingError.notCURL("wget"),
        CURLParsingError.severalURLs("a"), CURLParsingError.shellSyntax("|"), CURLParsingError.unbalancedQuote("'"),
        CURLParsingError.unreadableFile(option: "-d", path: "/a"), CURLParsingError.unsupportedOption("-K"),
        DecodableWebSocketMessageDecoder<Int>.Error.decoding(POSIXError(.EACCES)),
        DecodableWebSocketMessageDecoder<Int>.Error.unknownMessage(description: "message(3)"),
        DeflateRequestCompressor.DuplicateHeaderError(), HostPattern.Malformed(text: "*.*"),
        JSONEncoding.Error.invalidJSONObject, MultipartFormDataError.invalidHeaderField(name: "a b"),
        MultipartFormDataError.tooManyParts(limit: 3), NetrcError.syntax(line: 3),
        NetrcError.unreadable(file, underlying: POSIXError(.EACCES)),
        RequestSyntaxError.invalidHeaderField(name: "a b"),
        RequestSyntaxError.invalidMethod("A B"), StreamedContentError.eventTooLong(limit: 3),
        StreamedContentError.lineTooLong(limit: 3), URLEncodedFormEncoder.Error.invalidRootObject("array"),
        ResumeError.unreadable("no"), ResumeError.unsupportedVersion(7), ResumeError.inUse(file),
        ResumeError.notPartial(file), ResumeError.unusable(file, underlying: POSIXError(.EACCES)),
        ResumeError.unsupportedMethod("POST"), SessionDrainError.draining, SessionDrainError.limitReached,
    ]

    private static let stores: [any Error] = [
        CredentialVaultError.alwaysReplaced, CredentialVaultError.cannotOpen(path: "/a", reason: "no"),
        CredentialVaultError.invalidKey, CredentialVaultError.lockNotReleased(after: .seconds(3)),
        CredentialVaultError.unreadable, RateLimitError.cannotOpen(path: "/a", reason: "no"),
        RateLimitError.waitTooLong(.seconds(3)), ResponseStoreError.busy,
        OverloadError.circuitOpen(origin: "http://a.test:80", pause: .seconds(1)),
        OverloadError.limitReached(origin: "http://a.test:80", limit: 2),
        OverloadError.pauseRequested(origin: "http://a.test:80", pause: .seconds(1)),
        OverloadError.deadlineOutOfReach(origin: "http://a.test:80", remaining: .seconds(1), needed: .seconds(2)),
        OverloadError.tooManyWaiting(origin: "http://a.test:80", limit: 2),
        OverloadError.waitedTooLong(origin: "http://a.test:80", limit: .seconds(1)),
        ResponseStoreError.cannotOpen(path: "/a", reason: "no"), ResponseStoreError.damaged(path: "/a"),
        ResponseStoreError.failed(code: 1, reason: "no"),
        FleetError.busy, FleetError.circuitOpen(for: .seconds(3)), FleetError.invalidURL(reason: "no"),
        FleetError.loading, FleetError.malformedReply(reason: "no"), FleetError.moved(message: "no"),
        FleetError.notAuthorised(message: "no"), FleetError.notPermitted(message: "no"), FleetError.outOfMemory,
        FleetError.overloaded, FleetError.readOnly,
        FleetError.server(code: "ERR", message: "no"), FleetError.shutDown, FleetError.timedOut(after: .seconds(3)),
        FleetError.unexpectedReply(to: "GET"), FleetError.unreachable(reason: "no"), FleetError.wrongType,
    ]

    private static let testing: [any Error] = [
        MockServerError(description: "The port is taken."), MockWebSocketClosed(code: nil, reason: ""),
        RecordingError("The recording is missing."),
        StubExpectationError("The stub was not called.", at: SourcePlace(filePath: "/a/Tests.swift", line: 3)),
        UnmatchedRequestError(
            request: RecordedRequest(method: "GET", url: "https://h.example/", fields: [], body: Data()), stubs: [],
            redaction: .standard),
    ]

    private static let examples = chain + transport + requests + stores + testing

    /// The lines of the list of public declarations, with the module and the path of each.
    private static func declarations(of kind: String) throws -> [(path: String, text: String)] {
        let list = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../../Scripts/public-api.txt")
        return try String(contentsOf: list, encoding: .utf8).split(separator: "\n").compactMap { line in
            guard let found = line.range(of: " [\(kind)] ") else { return nil }
            let path = line[..<found.lowerBound].replacingOccurrences(of: " ", with: ".")
            return (path, String(line[found.upperBound...]))
        }
    }

    /// The name of an error's type, as the list has it: with its module, without the types it is generic over.
    private static func name(of error: any Error) -> String {
        String(reflecting: type(of: error)).replacing(/<[^>]*>/, with: "")
    }

    /// The name of an enum's case with a payload; that of the type for another error.
    private static func caseName(of error: any Error) -> String {
        let mirror = Mirror(reflecting: error)
        guard mirror.displayStyle == .enum, let label = mirror.children.first?.label else { return name(of: error) }
        return "\(name(of: error)).\(label)"
    }

    @Test("there is an example of every public error type")
    func types() throws {
        let listed = Set(try Self.declarations(of: "conformsTo").filter { $0.text == "Swift.Error" }.map(\.path))
        #expect(listed.count > 30 && Set(Self.examples.map(Self.name)) == listed)
    }

    @Test("there is an example of every case of these types; those of AFError have a test of their own")
    func cases() throws {
        let types = Set(Self.examples.map(Self.name)).subtracting(["Fireweed.AFError"])
        // A case without a payload has no name at run time where its type has a description: these are counted.
        let (names, plain) = (Set(Self.examples.map(Self.caseName)), Self.examples.filter { Self.isPlain($0) })
        var (listedCount, plainCounts) = (0, [String: Int]())
        for (path, _) in try Self.declarations(of: "enum.case") {
            let bare = path.replacing(/\(.*/, with: "")
            let type = String(bare[..<(bare.lastIndex(of: ".") ?? bare.endIndex)])
            guard types.contains(type) else { continue }
            listedCount += 1
            if bare == path { plainCounts[type, default: 0] += 1 } else { #expect(names.contains(bare), "\(path)") }
        }
        for (type, count) in plainCounts {
            #expect(Set(plain.filter { Self.name(of: $0) == type }.map { "\($0)" }).count == count, "\(type)")
        }
        #expect(listedCount > 80)
    }

    private static func isPlain(_ error: any Error) -> Bool {
        let mirror = Mirror(reflecting: error)
        return mirror.displayStyle == .enum && mirror.children.isEmpty
    }

    @Test("every one is described in words: no dump, no name of a type or of a case")
    func words() {
        for error in Self.examples {
            let text = (error as? any LocalizedError)?.errorDescription ?? ""
            #expect(!text.isEmpty && text == error.localizedDescription, "\(Self.caseName(of: error)): \(text)")
            let hasDump =
                text.contains("UserInfo") || text.contains("Domain=") || text.contains("Optional")
                || text.firstMatch(of: /[A-Za-z_]\(/) != nil
                || text.firstMatch(of: /\b(AF|URL|NS|POSIX|Cocoa)Error\b|\b[A-Z][a-z]+[A-Z]\w*Error\b/) != nil
            #expect(!hasDump, "\(Self.caseName(of: error)): \(text)")
        }
    }
}
