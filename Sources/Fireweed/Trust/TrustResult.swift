// The result of an evaluation, in the terms of Apple's Security framework.

import FireweedTransport

/// The result of evaluating a server's certificates; the raw values are those of Apple's `SecTrustResultType`.
public enum TrustResult: UInt32, Sendable {
    /// The evaluation was not possible.
    case invalid = 0
    /// The user trusts the chain explicitly. Fireweed never reports it.
    case proceed = 1
    /// The user refuses the chain explicitly. Fireweed never reports it.
    case deny = 3
    /// The chain is trusted.
    case unspecified = 4
    /// The chain is not trusted, but other authorities or another policy could trust it.
    case recoverableTrustFailure = 5
    /// The chain is defective or revoked: no authority can make it trusted.
    case fatalTrustFailure = 6
    /// The evaluation failed for another reason, such as a lack of memory.
    case otherError = 7
}

extension TrustResult: AlamofireExtended {}

extension AlamofireExtension where ExtendedType == TrustResult {
    /// Whether the chain is trusted.
    public var isSuccess: Bool { type == .unspecified || type == .proceed }
}

extension Int32: AlamofireExtended {}

extension AlamofireExtension where ExtendedType == Int32 {
    /// Whether the number, a result code of Apple's Security framework, is zero, which means success.
    public var isSuccess: Bool { type == 0 }
}

extension TrustFailure {
    /// Zero if the evaluation was possible: for Apple, an evaluation that refuses a chain is a successful call.
    var evaluationStatus: Int32 {
        switch self {
        case .authoritiesUnreadable, .internalFailure: Self.internalComponentError
        case .noCertificate, .selfSigned, .untrustedRoot, .unknownIssuer, .expired, .notYetValid, .hostMismatch,
            .weakKey, .weakSignature, .invalidSignature, .unsuitablePurpose, .invalidAuthority, .forbiddenName,
            .revoked, .unknownRevocation, .malformed:
            0
        }
    }

    var evaluationResult: TrustResult {
        switch self {
        case .noCertificate: .invalid
        case .authoritiesUnreadable, .internalFailure: .otherError
        case .revoked, .invalidSignature, .malformed: .fatalTrustFailure
        case .selfSigned, .untrustedRoot, .unknownIssuer, .expired, .notYetValid, .hostMismatch, .weakKey,
            .weakSignature, .unsuitablePurpose, .invalidAuthority, .forbiddenName, .unknownRevocation:
            .recoverableTrustFailure
        }
    }

    /// `errSecInternalComponent`.
    private static let internalComponentError: Int32 = -2070
}
