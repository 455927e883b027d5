// The hash functions of HTTP authentication, by OpenSSL.

import COpenSSL

/// A hash function of OpenSSL.
package enum Hash {
    case md5, sha256
    /// SHA-512/256: SHA-512 with other initial values, truncated to 256 bits (FIPS 180-4 §6.7).
    case sha512Cut256

    private var type: OpaquePointer? {
        switch self {
        case .md5: EVP_md5()
        case .sha256: EVP_sha256()
        case .sha512Cut256: EVP_sha512_256()
        }
    }

    /// Returns the digest; empty if OpenSSL lacks the function, such as MD5 in FIPS mode.
    package func digest(of bytes: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard EVP_Digest(bytes, bytes.count, &digest, &count, type, nil) == 1 else { return [] }
        return Array(digest.prefix(Int(count)))
    }

    /// Returns the digest as lower-case hexadecimal digits.
    package func hexadecimalDigest(of text: String) -> String { hexadecimalDigest(of: text.utf8) }

    /// Returns the digest as lower-case hexadecimal digits.
    package func hexadecimalDigest(of bytes: some Collection<UInt8>) -> String {
        digest(of: bytes).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0\(digits)" : digits
        }.joined()
    }

    /// Returns the HMAC (RFC 2104); empty if OpenSSL lacks the function.
    func authenticationCode(of bytes: some Collection<UInt8>, key: [UInt8]) -> [UInt8] {
        let bytes = Array(bytes)
        var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard HMAC(type, key, Int32(key.count), bytes, bytes.count, &code, &count) != nil else { return [] }
        return Array(code.prefix(Int(count)))
    }
}
