// Certificates and keys of a bundle, for pinning.

public import FireweedTransport
public import Foundation

extension Bundle: AlamofireExtended {}

extension AlamofireExtension where ExtendedType: Bundle {
    /// The first certificate in each of the bundle's files named `.cer`, `.crt` or `.der`, in upper or lower case.
    ///
    /// The order is that of the files' names, and each certificate appears once. A file that cannot be read as a
    /// certificate is ignored; `Certificate.all(in:)` with the bundle's `resourceURL` throws for such a file instead.
    public var certificates: [Certificate] {
        guard let folder = type.resourceURL,
            let files = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        else { return [] }
        var seen: Set<Certificate> = []
        return
            files
            .filter { Certificate.bundleExtensions.contains($0.pathExtension.lowercased()) }
            .sorted { $0.lastPathComponent < $1.lastPathComponent }
            .compactMap { try? Certificate(contentsOf: $0) }
            .filter { seen.insert($0).inserted }
    }

    /// The keys of `certificates`, without those that cannot be read.
    public var publicKeys: [PublicKey] { certificates.compactMap { try? $0.publicKey } }

    /// The paths of the bundle's resources with one of these extensions, with or without a dot in front; each path
    /// once.
    ///
    /// Upper and lower case differ. Resources in subfolders are left out. The order is that of the paths.
    public func paths(forResourcesOfTypes types: [String]) -> [String] {
        let paths = types.flatMap { extensionName in
            type.paths(forResourcesOfType: String(extensionName.trimmingPrefix(".")), inDirectory: nil)
        }
        return Set(paths).sorted()
    }
}
