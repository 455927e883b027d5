// The translation of OpenSSL's verification codes into ours.

import COpenSSL

/// A result code of `X509_verify_cert` (X509_STORE_CTX_get_error(3)).
struct VerificationCode: Hashable {
    let rawValue: Int32

    /// OpenSSL's text for the code.
    var text: String { String(cString: X509_verify_cert_error_string(Int(rawValue))) }

    /// Returns the `TrustFailure` for the code.
    ///
    /// Without a certificate at fault, or for a code in `internalCodes`, the result is `internalFailure` with OpenSSL's
    /// text.
    func failure(at certificate: Certificate?) -> TrustFailure {
        guard let certificate, let kind = Self.kinds[rawValue] else {
            return .internalFailure(code: Int(rawValue), reason: text)
        }
        return switch kind {
        case .plain(let make): make(certificate)
        case .withText(let make): make(certificate, text)
        }
    }

    private enum Kind: Sendable {
        case plain(@Sendable (Certificate) -> TrustFailure)
        case withText(@Sendable (Certificate, String) -> TrustFailure)
    }

    /// Codes that do not blame a certificate: they become `internalFailure`.
    ///
    /// 1 unspecified, 17 memory, 28 and 50 the application, 69 and 70 call and look-up. The other codes are of checks
    /// that we never enable: Suite B (56–61), names (62–64, see `Certificate.isValid(forHost:)`), DANE (65),
    /// certificate transparency (71).
    static let internalCodes: Set<Int32> = [1, 17, 28, 50, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 69, 70, 71]

    private static let kinds: [Int32: Kind] = {
        var kinds: [Int32: Kind] = [:]
        for (kind, codes) in groups { for code in codes { kinds[code] = kind } }
        return kinds
    }()

    private static let groups: [(Kind, [Int32])] = [
        (.plain { .selfSigned($0) }, [X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT]),
        (.plain { .untrustedRoot($0) }, [X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_CERT_UNTRUSTED]),
        (
            .plain { .unknownIssuer($0) },
            [
                X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
                X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_SUBJECT_ISSUER_MISMATCH,
                X509_V_ERR_AKID_SKID_MISMATCH, X509_V_ERR_AKID_ISSUER_SERIAL_MISMATCH,
            ]
        ),
        (.plain { .expired($0) }, [X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD]),
        (.plain { .notYetValid($0) }, [X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD]),
        (.plain { .weakKey($0) }, [X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL]),
        (.plain { .weakSignature($0) }, [X509_V_ERR_CA_MD_TOO_WEAK]),
        (
            .plain { .invalidSignature($0) },
            [
                X509_V_ERR_UNABLE_TO_DECRYPT_CERT_SIGNATURE, X509_V_ERR_UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY,
                X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_NO_ISSUER_PUBLIC_KEY,
                X509_V_ERR_UNSUPPORTED_SIGNATURE_ALGORITHM, X509_V_ERR_SIGNATURE_ALGORITHM_MISMATCH,
                X509_V_ERR_SIGNATURE_ALGORITHM_INCONSISTENCY, X509_V_ERR_EC_KEY_EXPLICIT_PARAMS,
            ]
        ),
        (.plain { .unsuitablePurpose($0) }, [X509_V_ERR_INVALID_PURPOSE, X509_V_ERR_KEYUSAGE_NO_DIGITAL_SIGNATURE]),
        (
            .plain { .invalidAuthority($0) },
            [
                X509_V_ERR_CERT_CHAIN_TOO_LONG, X509_V_ERR_PATH_LENGTH_EXCEEDED, X509_V_ERR_KEYUSAGE_NO_CERTSIGN,
                X509_V_ERR_INVALID_NON_CA, X509_V_ERR_PROXY_PATH_LENGTH_EXCEEDED, X509_V_ERR_PATH_LOOP,
                X509_V_ERR_PROXY_CERTIFICATES_NOT_ALLOWED, X509_V_ERR_PROXY_SUBJECT_NAME_VIOLATION,
                X509_V_ERR_INVALID_CA, X509_V_ERR_NO_EXPLICIT_POLICY,
            ]
        ),
        (
            .plain { .forbiddenName($0) },
            [
                X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION, X509_V_ERR_SUBTREE_MINMAX,
                X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE, X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX,
                X509_V_ERR_UNSUPPORTED_NAME_SYNTAX,
            ]
        ),
        (.plain { .revoked($0) }, [X509_V_ERR_CERT_REVOKED]),
        (
            .withText { .unknownRevocation($0, reason: $1) },
            [
                X509_V_ERR_UNABLE_TO_GET_CRL, X509_V_ERR_UNABLE_TO_DECRYPT_CRL_SIGNATURE,
                X509_V_ERR_CRL_SIGNATURE_FAILURE, X509_V_ERR_CRL_NOT_YET_VALID, X509_V_ERR_CRL_HAS_EXPIRED,
                X509_V_ERR_ERROR_IN_CRL_LAST_UPDATE_FIELD, X509_V_ERR_ERROR_IN_CRL_NEXT_UPDATE_FIELD,
                X509_V_ERR_UNABLE_TO_GET_CRL_ISSUER, X509_V_ERR_KEYUSAGE_NO_CRL_SIGN,
                X509_V_ERR_UNHANDLED_CRITICAL_CRL_EXTENSION, X509_V_ERR_DIFFERENT_CRL_SCOPE,
                X509_V_ERR_CRL_PATH_VALIDATION_ERROR, X509_V_ERR_OCSP_VERIFY_NEEDED, X509_V_ERR_OCSP_VERIFY_FAILED,
                X509_V_ERR_OCSP_CERT_UNKNOWN,
            ]
        ),
        (
            .withText { .malformed($0, reason: $1) },
            [
                X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION, X509_V_ERR_INVALID_EXTENSION,
                X509_V_ERR_INVALID_POLICY_EXTENSION, X509_V_ERR_UNSUPPORTED_EXTENSION_FEATURE,
                X509_V_ERR_UNNESTED_RESOURCE, X509_V_ERR_PATHLEN_INVALID_FOR_NON_CA,
                X509_V_ERR_PATHLEN_WITHOUT_KU_KEY_CERT_SIGN, X509_V_ERR_KU_KEY_CERT_SIGN_INVALID_FOR_NON_CA,
                X509_V_ERR_ISSUER_NAME_EMPTY, X509_V_ERR_SUBJECT_NAME_EMPTY,
                X509_V_ERR_MISSING_AUTHORITY_KEY_IDENTIFIER, X509_V_ERR_MISSING_SUBJECT_KEY_IDENTIFIER,
                X509_V_ERR_EMPTY_SUBJECT_ALT_NAME, X509_V_ERR_EMPTY_SUBJECT_SAN_NOT_CRITICAL,
                X509_V_ERR_CA_BCONS_NOT_CRITICAL, X509_V_ERR_AUTHORITY_KEY_IDENTIFIER_CRITICAL,
                X509_V_ERR_SUBJECT_KEY_IDENTIFIER_CRITICAL, X509_V_ERR_CA_CERT_MISSING_KEY_USAGE,
                X509_V_ERR_EXTENSIONS_REQUIRE_VERSION_3,
            ]
        ),
    ]
}
