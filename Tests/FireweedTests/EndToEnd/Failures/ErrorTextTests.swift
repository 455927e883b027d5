import FixtureServer
import Foundation
import FoundationNetworking
import Testing

@testable import Fireweed
@testable import FireweedTransport

@Suite("The words of errors", .timeLimit(.minutes(TestTimeouts.minutes)))
struct ErrorTextTests {
    private static let file = URL(fileURLWithPath: "/folder/file.txt")

    /// Errors of Foundation, of Swift and of this library that may be the cause of an `AFError`.
    private static var causes: [any Error] {
        let context = EncodingError.Context(codingPath: [], debugDescription: "the number is not finite")
        return [
            CocoaError(.fileReadNoSuchFile, userInfo: [NSFilePathErrorKey: file.path]),
            CocoaError(.fileReadUnknown, userInfo: [NSURLErrorKey: file]),
            CocoaError(.fileWriteOutOfSpace, userInfo: [NSUnderlyingErrorKey: POSIXError(.ENOSPC)]),
            NSError(domain: "Some.Domain", code: 3, userInfo: ["key": "value"]), POSIXError(.EACCES),
            URLError(.timedOut), URLError(.fileDoesNotExist, userInfo: [NSURLErrorKey: file]), CancellationError(),
            EncodingError.invalidValue(Double.nan, context),
        ] + decodingErrors + ours
    }

    private static var decodingErrors: [any Error] {
        ["{", #"{"name": 3}"#, #"{}"#, #"{"name": null}"#].compactMap { text in
            do {
                _ = try JSONDecoder().decode([String: [String: String]].self, from: Data(text.utf8))
                _ = try JSONDecoder().decode(Anything.self, from: Data(text.utf8))
                return nil
            } catch {
                return error
            }
        }
    }

    private static var ours: [any Error] {
        let certificate: [any Error] = [
            CertificateError.malformedDER, CertificateError.noCertificateInPEM, CertificateError.malformedPEM,
            CertificateError.unreadablePublicKey, CertificateError.unreadableFile(file, reason: "no"),
            CertificateError.malformedFile(file, .malformedDER), CertificateError.malformedPin("pin"),
            ClientIdentityError.unreadableFile(file, reason: "no"), ClientIdentityError.noCertificate(file),
            ClientIdentityError.noPrivateKey(file), ClientIdentityError.missingPassphrase(file),
            ClientIdentityError.wrongPassphrase(file), ClientIdentityError.malformedFile(file, reason: "no"),
            ClientIdentityError.refused(reason: "no"), RevocationList.Malformed(),
        ]
        let stores: [any Error] = [
            ResponseStoreError.cannotOpen(path: "/store", reason: "no"), ResponseStoreError.busy,
            ResponseStoreError.damaged(path: "/store"), ResponseStoreError.failed(code: 1, reason: "no"),
            ResumeError.unreadable("no"), ResumeError.unsupportedVersion(7), ResumeError.inUse(file),
            ResumeError.notPartial(file), ResumeError.unusable(file, underlying: POSIXError(.EACCES)),
            ResumeError.unsupportedMethod("POST"),
        ]
        return certificate + stores + [
            BodyLengthError(missingByteCount: 3), BodyLengthError(missingByteCount: 0),
            AFError.UnexpectedInputStreamLength(bytesExpected: 3, bytesRead: 2),
            URLEncodedFormEncoder.Error.invalidRootObject("array"), JSONEncoding.Error.invalidJSONObject,
            MultipartFormDataError.tooManyParts(limit: 3), MultipartFormDataError.invalidHeaderField(name: "a b"),
            AuthenticationError.excessiveRefresh, TransferRefusal.bodyBytes(limit: 3), MissingAbility.webSockets,
        ]
    }

    /// Every reason for mistrust; a switch in the library names each of them.
    private static func trust(around cause: any Error) -> [AFError.ServerTrustFailureReason] {
        let server = ServerTrust(certificates: [], host: "h.example")
        let output = AFError.ServerTrustFailureReason.Output(
            host: "h.example", trust: server, failure: .authoritiesUnreadable(reason: "/folder: permission denied"))
        let policy = TrustPolicy(description: "names") { _ in }
        return [
            .customEvaluationFailed(error: cause), .trustEvaluationFailed(error: cause),
            .trustEvaluationFailed(error: nil), .noRequiredEvaluator(host: "h.example"), .noCertificatesFound,
            .noPublicKeysFound, .policyApplicationFailed(trust: server, policy: policy, status: 1),
            .settingAnchorCertificatesFailed(status: 1, certificates: []), .revocationPolicyCreationFailed,
            .defaultEvaluationFailed(output: output), .hostValidationFailed(output: output),
            .revocationCheckFailed(output: output, options: .any),
            .certificatePinningFailed(
                host: "h.example", trust: server, pinnedCertificates: [], serverCertificates: []),
            .publicKeyPinningFailed(host: "h.example", trust: server, pinnedKeys: [], serverKeys: []),
        ]
    }

    /// An `AFError` of every kind around a cause.
    private static func errors(around cause: any Error) -> [AFError] {
        let multipart: [AFError.MultipartEncodingFailureReason] = [
            .bodyPartURLInvalid(url: file), .bodyPartFilenameInvalid(in: file), .bodyPartFileNotReachable(at: file),
            .bodyPartFileNotReachableWithError(atURL: file, error: cause), .bodyPartFileIsDirectory(at: file),
            .bodyPartFileSizeNotAvailable(at: file),
            .bodyPartFileSizeQueryFailedWithError(forURL: file, error: cause),
            .bodyPartInputStreamCreationFailed(for: file), .outputStreamCreationFailed(for: file),
            .outputStreamFileAlreadyExists(at: file), .outputStreamURLInvalid(url: file),
            .outputStreamWriteFailed(error: cause), .inputStreamReadFailed(error: cause),
        ]
        let serialization: [AFError.ResponseSerializationFailureReason] = [
            .inputDataNilOrZeroLength, .inputFileNil, .inputFileReadFailed(at: file),
            .stringSerializationFailed(encoding: .utf8), .jsonSerializationFailed(error: cause),
            .decodingFailed(error: cause), .customSerializationFailed(error: cause),
            .invalidEmptyResponse(type: "Account"),
        ]
        let validation: [AFError.ResponseValidationFailureReason] = [
            .dataFileNil, .dataFileReadFailed(at: file), .missingContentType(acceptableContentTypes: ["a/b"]),
            .unacceptableContentType(acceptableContentTypes: ["a/b"], responseContentType: "c/d"),
            .unacceptableStatusCode(code: 404), .customValidationFailed(error: cause),
        ]
        return [
            .createURLRequestFailed(error: cause), .createUploadableFailed(error: cause),
            .downloadedFileMoveFailed(error: cause, source: file, destination: file), .explicitlyCancelled,
            .invalidURL(url: "no url"), .parameterEncodingFailed(reason: .missingURL),
            .parameterEncodingFailed(reason: .jsonEncodingFailed(error: cause)),
            .parameterEncodingFailed(reason: .customEncodingFailed(error: cause)),
            .parameterEncoderFailed(reason: .missingRequiredComponent(.url)),
            .parameterEncoderFailed(reason: .missingRequiredComponent(.httpMethod(rawValue: "A"))),
            .parameterEncoderFailed(reason: .encoderFailed(error: cause)), .requestAdaptationFailed(error: cause),
            .requestRetryFailed(retryError: cause, originalError: cause), .sessionDeinitialized,
            .sessionInvalidated(error: cause), .sessionInvalidated(error: nil), .sessionTaskFailed(error: cause),
            .urlRequestValidationFailed(reason: .bodyDataInGETRequest(Data(count: 3))),
        ]
            + trust(around: cause).map { .serverTrustEvaluationFailed(reason: $0) }
            + multipart.map { .multipartEncodingFailed(reason: $0) }
            + serialization.map { .responseSerializationFailed(reason: $0) }
            + validation.map { .responseValidationFailed(reason: $0) }
    }

    /// A dump or the name of a type in a text: `Domain=`, `UserInfo=`, `name(`, `CocoaError`.
    private func hasDump(_ text: String, _ cause: any Error) -> Bool {
        text.contains("UserInfo") || text.contains("Domain=") || text.contains("Optional")
            || text.firstMatch(of: /[A-Za-z_]\(/) != nil
            || text.split { !$0.isLetter }.contains { $0 == String(describing: type(of: cause)) }
    }

    @Test("an error is printed as it is described, without the secrets of its URL")
    func printing() {
        let url = URL(string: "http://user:secret-a@h.example/path?token=secret-b")
        let errors: [AFError] = [
            .invalidURL(url: "http://user:secret-a@h .example/"),
            .sessionTaskFailed(error: URLError(.timedOut, userInfo: [NSURLErrorFailingURLErrorKey: url as Any])),
            .responseValidationFailed(reason: .unacceptableStatusCode(code: 500)),
        ]
        for error in errors {
            for text in ["\(error)", String(reflecting: error), "\([error])"] {
                #expect(text.contains(error.localizedDescription) && !text.contains("secret"))
            }
        }
    }

    @Test(
        "a URL that cannot be requested says what it lacks",
        arguments: [
            ("example.com/a?token=secret", "it has no scheme such as https"),
            ("//h/x", "it has no scheme such as https"),
            ("ftp://h/", "the scheme ftp is not supported"), ("http://", "the URL has no host"),
            ("https:///x", "the URL has no host"),
        ])
    func unusableURL(url: String, words: String) async {
        let session = Session()
        let error = await session.request(url).serializingData().response.error
        #expect(error?.localizedDescription.hasSuffix(words) == true, "\(String(describing: error))")
    }

    @Test("no AFError is described by a dump or by a type name, whatever its cause is")
    func everyAFError() {
        for cause in Self.causes {
            for error in Self.errors(around: cause) {
                let text = error.errorDescription ?? ""
                #expect(!text.isEmpty && !hasDump(text, cause), "\(text)")
            }
        }
    }

    @Test("no transfer's failure is described by a dump or by a type name, whatever its cause is")
    func everyTransferFailure() {
        for cause in Self.causes {
            for failure in [TransferFailure.unreadableBody(cause), .untrusted(cause), .reported(cause)] {
                let text = failure.urlError(failingURL: "http://h.example/").localizedDescription
                #expect(!text.isEmpty && !hasDump(text, cause), "\(text)")
            }
        }
    }

}
