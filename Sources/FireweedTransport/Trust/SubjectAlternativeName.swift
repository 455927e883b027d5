// The subject alternative names of a certificate (RFC 5280 §4.2.1.6), and the check of a host (RFC 9110 §4.3.4).

import COpenSSL
import Foundation

/// One subject alternative name of a certificate.
public enum SubjectAlternativeName: Sendable, Hashable, CustomStringConvertible {
    /// A host name, which may have `*` as its first label.
    case dns(String)
    /// An IP address, as text.
    case ip(String)
    /// An e-mail address.
    case email(String)
    /// A URI.
    case uri(String)
    /// Another type of name, or an IP address of invalid length.
    case other

    /// The type and the name, in OpenSSL's format; characters other than printable ASCII are escaped.
    public var description: String {
        switch self {
        case .dns(let name): "DNS:\(Self.printable(name))"
        case .ip(let address): "IP:\(address)"
        case .email(let address): "email:\(Self.printable(address))"
        case .uri(let text): "URI:\(Self.printable(text))"
        case .other: "other"
        }
    }

    /// Escapes control sequences for terminals, since errors show names from servers that are not trusted.
    private static func printable(_ name: String) -> String {
        name.unicodeScalars.map { $0.escaped(asASCII: true) }.joined()
    }
}

extension Certificate {
    /// Whether the certificate is valid for a host: a name, or an IP address with or without brackets.
    ///
    /// Only subject alternative names are compared, never the subject (RFC 9525 §2). A `*` matches exactly one whole
    /// label, and only the first. A non-ASCII host name is compared in A-labels (`xn--…`), and a dot at its end is
    /// ignored.
    public func isValid(forHost host: String) -> Bool {
        parsed?.isValid(forHost: host) ?? false
    }
}

extension ParsedCertificate {
    var subjectAlternativeNames: [SubjectAlternativeName] {
        guard let found = X509_get_ext_d2i(x509, NID_subject_alt_name, nil, nil) else { return [] }
        let names = OpaquePointer(found)
        defer { GENERAL_NAMES_free(names) }
        return (0..<max(0, fw_general_names_count(names))).compactMap { index in
            fw_general_names_at(names, index).map(Self.name)
        }
    }

    func isValid(forHost host: String) -> Bool {
        let host = CanonicalHost.withoutZone(CanonicalHost.text(of: host))
        // OpenSSL treats a leading dot as "any subdomain", and a length of zero as "NUL-terminated". A NUL inside the
        // name would end it for the C functions that read an address.
        guard !host.isEmpty, !host.hasPrefix("."), !host.utf8.contains(0) else { return false }
        if Self.isAddress(host) { return X509_check_ip_asc(x509, host, 0) == 1 }
        let flags = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS
        return X509_check_host(x509, host, host.utf8.count, UInt32(flags), nil) == 1
    }

    private static func isAddress(_ host: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1
    }

    private static func name(_ general: UnsafeMutablePointer<GENERAL_NAME>) -> SubjectAlternativeName {
        var kind: Int32 = 0
        guard let value = GENERAL_NAME_get0_value(general, &kind),
            [GEN_DNS, GEN_IPADD, GEN_EMAIL, GEN_URI].contains(kind)
        else { return .other }
        let string = OpaquePointer(value)
        let bytes = UnsafeBufferPointer(
            start: ASN1_STRING_get0_data(UnsafePointer(string)), count: Int(ASN1_STRING_length(UnsafePointer(string))))
        let text = String(decoding: bytes, as: UTF8.self)
        return switch kind {
        case GEN_DNS: .dns(text)
        case GEN_EMAIL: .email(text)
        case GEN_URI: .uri(text)
        default: address(bytes).map(SubjectAlternativeName.ip) ?? .other
        }
    }

    private static func address(_ bytes: UnsafeBufferPointer<UInt8>) -> String? {
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(family, bytes.baseAddress, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
