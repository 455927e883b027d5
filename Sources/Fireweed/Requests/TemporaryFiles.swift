// Where downloads are while they come.

import Foundation

/// New places for files, in a folder that only this user can look into.
enum TemporaryFiles {
    private static let folder: URL = {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("fireweed-\(UUID().uuidString)")
        // A failure shows when the first file is made.
        try? FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return folder
    }()

    /// A place where there is no file yet.
    static func newPlace() -> URL {
        folder.appendingPathComponent(UUID().uuidString)
    }
}
