// Where downloads are while they come.

import Foundation
import Glibc

/// New places for files, each in a folder that only this user can look into.
enum TemporaryFiles {
    /// The folder above all of them.
    static var folder: URL { FileManager.default.temporaryDirectory }

    /// A place where there is no file yet.
    ///
    /// Throws `FileFailure` when its folder cannot be made.
    static func newPlace() throws -> URL {
        let folder = folder.appendingPathComponent("fireweed-\(UUID().uuidString)")
        guard mkdir(folder.path, 0o700) == 0 else { throw FileFailure.current(.create, folder) }
        return folder.appendingPathComponent("content")
    }

    /// Removes the folder of a place, once its file has gone from there.
    static func leave(_ place: URL) {
        rmdir(place.deletingLastPathComponent().path)
    }
}
