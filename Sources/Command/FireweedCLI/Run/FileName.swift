// The name of a downloaded file.

import Fireweed
import Foundation
import Synchronization

/// Names for downloads: from the response, else from the URL; never a path, never the name of an existing file.
enum FileName {
    /// Names that this run has given to downloads, whose files may not exist yet.
    private static let given = Mutex<Set<String>>([])

    static func free(for response: HTTPURLResponse, url: URL, in folder: URL = URL(fileURLWithPath: ".")) -> URL {
        var name = SuggestedFileName.name(for: response, url: url) ?? "download"
        // `rm *` would read a name that begins with a hyphen as an option.
        if name.hasPrefix("-") { name = "_" + name.dropFirst() }
        let stem = (name as NSString).deletingPathExtension
        let kind = (name as NSString).pathExtension
        var candidate = name
        var number = 1
        while !take(folder.appendingPathComponent(candidate).path) {
            candidate = kind.isEmpty ? "\(stem)-\(number)" : "\(stem)-\(number).\(kind)"
            number += 1
        }
        return folder.appendingPathComponent(candidate)
    }

    /// Returns a path that is free: this one, or as curl names files, with `.1` to `.99` behind it; `nil` if all of
    /// them are taken.
    static func numbered(_ path: String) -> String? {
        ([path] + (1...99).map { "\(path).\($0)" }).first { take(URL(fileURLWithPath: $0).path) }
    }

    /// Releases a name that a refused attempt of a download has reserved.
    static func giveBack(_ file: URL) {
        _ = given.withLock { $0.remove(file.path) }
    }

    /// Reserves a path; returns false if a file with this path exists, or an earlier download has reserved the path.
    private static func take(_ path: String) -> Bool {
        !FileManager.default.fileExists(atPath: path) && given.withLock { $0.insert(path).inserted }
    }
}
