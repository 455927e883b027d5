// Errors in one line, and the exit code that goes with them.

import Fireweed
import Foundation

/// What a failure is called and how the command ends with it.
struct ErrorText {
    let message: String
    let code: ExitCode

    init(_ error: AFError) {
        var text = error.errorDescription ?? "\(error)"
        // Alamofire's words for its users; who types a command knows no task.
        let prefix = "URLSessionTask failed with error: "
        if text.hasPrefix(prefix) { text.removeFirst(prefix.count) }
        message = text.split(whereSeparator: \.isNewline).joined(separator: " ")
        code = Self.code(of: error)
    }

    private static func code(of error: AFError) -> ExitCode {
        if case .serverTrustEvaluationFailed = error { return .tls }
        guard let code = (error.underlyingError as? URLError)?.code else { return .failure }
        switch code {
        case .timedOut: return .timedOut
        case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
            .serverCertificateNotYetValid, .serverCertificateHasUnknownRoot, .clientCertificateRequired,
            .clientCertificateRejected:
            return .tls
        case .cannotWriteToFile, .cannotCreateFile, .cannotOpenFile: return .failure
        default: return .network
        }
    }
}
