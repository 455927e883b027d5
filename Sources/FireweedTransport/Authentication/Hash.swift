// The hashes of HTTP authentication, by OpenSSL.

import COpenSSL

/// A hash function of OpenSSL's.
package enum Hash {
    case md5, sha256
    /// SHA-512 with other starting values, cut to 256 bits (FIPS 180-4 §6.7).
    case sha512Cut256

    private var type: OpaquePointer? {
        switch self {
        case .md5: EVP_md5()
        case .sha256: EVP_sha256()
        case .sha512Cut256: EVP_sha512_256()
        }
    }

    /// The digest; empty when OpenSSL lacks the function, such as MD5 in FIPS mode.
    package func digest(of bytes: some Collection<UInt8>) -> [UInt8] {
        let bytes = Array(bytes)
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard EVP_Digest(bytes, bytes.count, &digest, &count, type, nil) == 1 else { return [] }
        return Array(digest.prefix(Int(count)))
    }

    /// The digest as hexadecimal digits in lower case.
    package func hexadecimalDigest(of text: String) -> String { hexadecimalDigest(of: text.utf8) }

    /// The digest as hexadecimal digits in lower case.
    package func hexadecimalDigest(of bytes: some Collection<UInt8>) -> String {
        digest(of: bytes).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0\(digits)" : digits
        }.joined()
    }

    /// The HMAC (RFC 2104); empty when OpenSSL lacks the function.
    func authenticationCode(of bytes: some Collection<UInt8>, key: [UInt8]) -> [UInt8] {
        let bytes = Array(bytes)
        var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        guard HMAC(type, key, Int32(key.count), bytes, bytes.count, &code, &count) != nil else { return [] }
        return Array(code.prefix(Int(count)))
    }
}
