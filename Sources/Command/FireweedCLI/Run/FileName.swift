// The name of a downloaded file.

import Fireweed
import Foundation
import Synchronization

/// Names for downloads: from the response, else from the URL; never a path, never over a file that is there.
enum FileName {
    /// Names that this run has given to downloads, which may not be there yet.
    private static let given = Mutex<Set<String>>([])

    static func free(for response: HTTPURLResponse, url: URL, in folder: URL = URL(fileURLWithPath: ".")) -> URL {
        var name = SuggestedFileName.name(for: response, url: url) ?? "download"
        // `rm *` would take it for an option.
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

    /// Whether a path is free; it is given then.
    private static func take(_ path: String) -> Bool {
        !FileManager.default.fileExists(atPath: path) && given.withLock { $0.insert(path).inserted }
    }
}
