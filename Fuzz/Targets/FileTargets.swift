// Targets for the content of files, and for messages of the kernel.

import Fireweed
import FireweedTransport
import Foundation

extension FuzzTarget {
    static let resumeData = FuzzTarget("resume-data") { bytes in
        guard let found = try? ResumeData(Data(bytes)) else { return }
        try expect(found.file.isFileURL && found.file.path.hasPrefix("/"), "a file has an absolute path")
        try expect((found.byteCount ?? 0) >= 0 && (found.expectedByteCount ?? 0) >= 0, "no count is negative")
        if case .entityTag(let tag) = found.validator {
            try expect(ResumeRules.isStrong(entityTag: tag), "a validator is strong")
        }
        let again = try ResumeData(found.data)
        try expectEqual(again, found, "resume data survives being written")
        try expectEqual(again.data, found.data, "there is one way to write it")
    }

    static let netrc = FuzzTarget("netrc") { bytes in
        guard let netrc = try? Netrc(bytes.text) else { return }
        let quoted = { (text: String) in
            let escaped = text.unicodeScalars.map { scalar in
                switch scalar {
                case "\n": "\\n"
                case "\r": "\\r"
                case "\"", "\\": "\\\(scalar)"
                default: "\(scalar)"
                }
            }
            return "\"\(escaped.joined())\""
        }
        let lines = netrc.entries.map { entry in
            [
                entry.machine.map { "machine \(quoted($0))" } ?? "default", entry.login.map { "login \(quoted($0))" },
                entry.password.map { "password \(quoted($0))" },
            ].compactMap { $0 }.joined(separator: " ")
        }
        try expectEqual(try Netrc(lines.joined(separator: "\n")), netrc, "entries survive being written")
        for entry in netrc.entries {
            guard let machine = entry.machine else { return }
            try expect(netrc.entry(forHost: machine.asciiUppercased) != nil, "a host is found, in any case")
        }
    }

    /// DER, or text with PEM in it.
    static let certificates = FuzzTarget("certificates", maximumByteCount: 4096) { bytes in
        let text = bytes.text
        var found = (try? Certificate.all(inPEM: text)) ?? []
        if let certificate = try? Certificate(der: Data(bytes)) { found.append(certificate) }
        for certificate in found {
            try expectEqual(try Certificate.all(inPEM: "x\n" + certificate.pem), [certificate], "PEM is faithful")
            try expectEqual(try Certificate(der: certificate.derRepresentation), certificate, "DER is faithful")
            try expectEqual(certificate.sha256Fingerprint.utf8.count, 64, "a fingerprint has its length")
            _ = (certificate.debugDescription, certificate.isSelfIssued)
            for host in ["www.example.com", "192.0.2.1", "[2001:db8::1]", text] {
                _ = certificate.isValid(forHost: host)
            }
            guard let key = try? certificate.publicKey else { continue }
            try expectEqual(try PublicKey(der: key.subjectPublicKeyInfo), key, "a key is faithful")
            try expectEqual(try PublicKeyPin(key.pin.description), key.pin, "a pin is faithful")
        }
        _ = try? PublicKey(pem: text)
        if let pin = try? PublicKeyPin(text) {
            try expectEqual(try PublicKeyPin(pin.description), pin, "a pin survives being written")
        }
    }

    /// An address or a network in each line.
    static let addresses = FuzzTarget("addresses", maximumByteCount: 256) { bytes in
        for line in bytes.textLines {
            if let address = IPAddress(line) {
                try expectEqual(IPAddress(address.description), address, "an address survives being written")
                _ = AddressGuard.publicOnly.allows(address)
            }
            if let network = IPNetwork(line) {
                try expectEqual(IPNetwork(network.description), network, "a network survives being written")
                try expect(network.contains(network.base), "a network holds its first address")
                try expect((0...128).contains(network.prefixLength), "a prefix has a length")
            }
        }
    }

    /// A datagram of rtnetlink(7).
    static let netlink = FuzzTarget("netlink") { bytes in
        let messages = bytes.withUnsafeBytes { NetlinkMessage.all(in: $0) }
        try expect(messages.count <= bytes.count / 16, "a message has a header")
        let aligned = Array(bytes).withUnsafeBytes { NetlinkMessage.all(in: $0) }
        try expectEqual(messages, aligned, "where the bytes stand does not matter")
    }
}
