// A folder that is removed with its last reference.

public import Foundation

/// A new folder for this user only, removed with its owner.
public final class TemporaryFolder: Sendable {
    /// Where it is.
    public let url: URL

    /// Makes a folder.
    public init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("fireweed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// The URL of a file in it.
    public func file(_ name: String) -> URL {
        url.appendingPathComponent(name)
    }
}
