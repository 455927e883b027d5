// The locations of the system's authorities.

import Foundation

/// The file or the folders with the system's authorities.
///
/// OpenSSL's environment variables name the file or folders; without them, the usual paths of distributions are used.
struct SystemAuthorities {
    static let current = SystemAuthorities(ProcessInfo.processInfo.environment) {
        FileManager.default.isReadableFile(atPath: $0)
    }

    /// The bundle files of Debian, Fedora, openSUSE and Alpine.
    private static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
    ]

    /// The file with all authorities; `nil` if the authorities are in folders.
    let file: String?
    let folders: [String]
    /// Whether the environment names folders, or a file that is not a distribution's bundle.
    let areElsewhere: Bool

    /// Determines the locations; an empty variable is treated as not set.
    init(_ environment: [String: String], isReadable: (String) -> Bool) {
        let named = environment.filter { !$0.value.isEmpty }
        let namedFolders = named["SSL_CERT_DIR"]?.split(separator: ":").map(String.init)
        file = named["SSL_CERT_FILE"] ?? (namedFolders == nil ? Self.bundles.first(where: isReadable) : nil)
        folders = namedFolders ?? ["/etc/ssl/certs", "/etc/pki/tls/certs"]
        areElsewhere = file.map { !Self.bundles.contains($0) } ?? (namedFolders != nil)
    }
}
