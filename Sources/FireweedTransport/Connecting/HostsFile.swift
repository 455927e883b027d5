// Entries of the hosts file for complete names.

import Foundation

/// The hosts file (hosts(5)), which is read here for names with a final dot only.
///
/// getaddrinfo(3) finds no entry for a name with a final dot, since it compares the dot too. A program that relies on
/// the entry would reach another machine.
enum HostsFile {
    /// The system's file.
    static let path = "/etc/hosts"

    /// The addresses of a name in the order of the file, without duplicates; empty without an entry.
    ///
    /// The argument has no final dot. Names are compared without regard to case. A line has an address, then names; `#`
    /// begins a comment.
    static func addresses(of name: String, in content: Data) -> [SocketAddress] {
        var found: [SocketAddress] = []
        for line in content.split(separator: UInt8(ascii: "\n")) {
            let words = line.prefix { $0 != UInt8(ascii: "#") }
                .split { [0x20, 0x09, 0x0D].contains($0) }
                .map { String(decoding: $0, as: UTF8.self) }
            guard words.dropFirst().contains(where: { $0.isEqualIgnoringASCIICase(name) }),
                let address = words.first.flatMap({ HostAddresses.address(of: $0) }), !found.contains(address)
            else { continue }
            found.append(address)
        }
        return found
    }

    /// The addresses of a name, given without its final dot, in the system's file; empty if the file cannot be read.
    static func addresses(of name: String) -> [SocketAddress] {
        (try? FileContent.read(URL(fileURLWithPath: path))).map { addresses(of: name, in: $0) } ?? []
    }
}
