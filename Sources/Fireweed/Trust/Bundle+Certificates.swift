// Pins that come with a program.

public import FireweedTransport
public import Foundation

extension Bundle: AlamofireExtended {}

extension AlamofireExtension where ExtendedType: Bundle {
    /// The certificates in the bundle's files named `.cer`, `.crt` or `.der`, in upper or lower case.
    ///
    /// In the order of the files' names, each certificate once. A file without a certificate is ignored:
    /// `Certificate.all(in:)` with the bundle's `resourceURL` throws for it instead.
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
