// Authenticated encryption of data, by OpenSSL.

import COpenSSL

/// AES-256-GCM (NIST SP 800-38D): encrypts data, and detects every change of the encrypted data.
///
/// The sealed form is a nonce of 12 random bytes, the ciphertext, and an authentication tag of 16 bytes. With random
/// nonces of 96 bits, one key is safe for about 2^32 calls of `seal`.
package enum SealedData {
    /// The length of a key in bytes.
    package static let keyByteCount = 32
    private static let nonceByteCount = 12
    private static let tagByteCount = 16

    /// Encrypts data, and binds it to a context that `open` must get too; `nil` for a key of another length, and if
    /// OpenSSL fails.
    package static func seal(_ plain: [UInt8], context: [UInt8], key: [UInt8]) -> [UInt8]? {
        guard key.count == keyByteCount, let cipher = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(cipher) }
        var nonce = [UInt8](repeating: 0, count: nonceByteCount)
        var sealed = [UInt8](repeating: 0, count: plain.count)
        var tag = [UInt8](repeating: 0, count: tagByteCount)
        var count: Int32 = 0
        guard RAND_bytes(&nonce, Int32(nonceByteCount)) == 1,
            EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), nil, key, nonce) == 1,
            EVP_EncryptUpdate(cipher, nil, &count, context, Int32(context.count)) == 1,
            EVP_EncryptUpdate(cipher, &sealed, &count, plain, Int32(plain.count)) == 1,
            EVP_EncryptFinal_ex(cipher, nil, &count) == 1,
            EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, Int32(tagByteCount), &tag) == 1
        else {
            _ = OpenSSLError.drain()
            return nil
        }
        return nonce + sealed + tag
    }

    /// Decrypts the output of `seal`; `nil` if the key, the context or any bit of the data differs.
    package static func open(_ sealed: [UInt8], context: [UInt8], key: [UInt8]) -> [UInt8]? {
        guard key.count == keyByteCount, sealed.count >= nonceByteCount + tagByteCount,
            let cipher = EVP_CIPHER_CTX_new()
        else { return nil }
        defer { EVP_CIPHER_CTX_free(cipher) }
        let nonce = Array(sealed.prefix(nonceByteCount))
        var tag = Array(sealed.suffix(tagByteCount))
        let content = Array(sealed.dropFirst(nonceByteCount).dropLast(tagByteCount))
        var plain = [UInt8](repeating: 0, count: content.count)
        var count: Int32 = 0
        var final = [UInt8](repeating: 0, count: tagByteCount)
        guard EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), nil, key, nonce) == 1,
            EVP_DecryptUpdate(cipher, nil, &count, context, Int32(context.count)) == 1,
            EVP_DecryptUpdate(cipher, &plain, &count, content, Int32(content.count)) == 1,
            EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, Int32(tagByteCount), &tag) == 1,
            EVP_DecryptFinal_ex(cipher, &final, &count) == 1
        else {
            _ = OpenSSLError.drain()
            return nil
        }
        return plain
    }
}
