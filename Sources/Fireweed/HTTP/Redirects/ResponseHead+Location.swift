// The `Location` of a response, as a URI reference.

import FireweedTransport

extension ResponseHead {
    /// The first value of `Location`.
    ///
    /// A URI reference has no character encoding (RFC 3986 §2.5): in a value that is not UTF-8, the received bytes
    /// outside of ASCII are percent-encoded.
    var location: String? {
        var location: String?
        forEachLine { name, value in
            guard String(decoding: name, as: UTF8.self).isEqualIgnoringASCIICase("Location") else { return true }
            location = String(validating: value, as: UTF8.self) ?? Self.escaped(value)
            return false
        }
        return location
    }

    private static func escaped(_ bytes: UnsafeRawBufferPointer) -> String {
        bytes.reduce(into: "") { text, byte in
            if byte < 0x80 {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%" + String(byte, radix: 16, uppercase: true)
            }
        }
    }
}
