// A folder that is removed with its last reference.

public import Foundation

/// A new folder that only this user can use; it is removed when this object is released.
public final class TemporaryFolder: Sendable {
    /// The URL of the folder.
    public let url: URL

    /// Makes a folder.
    public init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("fireweed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Returns the URL of a file in the folder.
    public func file(_ name: String) -> URL {
        url.appendingPathComponent(name)
    }
}
