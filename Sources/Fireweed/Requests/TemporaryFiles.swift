// Where downloads are while they come.

import Foundation
import Glibc

/// New places for files, each in a folder that only this user can look into.
enum TemporaryFiles {
    /// A place where there is no file yet; throws when its folder cannot be made.
    static func newPlace() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("fireweed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return folder.appendingPathComponent("content")
    }

    /// Removes the folder of a place, once its file has gone from there.
    static func leave(_ place: URL) {
        rmdir(place.deletingLastPathComponent().path)
    }
}
