// The name of a downloaded file.

import Fireweed
import Foundation

/// Names for downloads: from the response, else from the URL; never a path, never over a file that is there.
enum FileName {
    static func free(for response: HTTPURLResponse, url: URL, in folder: URL = URL(fileURLWithPath: ".")) -> URL {
        var name = SuggestedFileName.name(for: response, url: url) ?? "download"
        // `rm *` would take it for an option.
        if name.hasPrefix("-") { name = "_" + name.dropFirst() }
        let stem = (name as NSString).deletingPathExtension
        let kind = (name as NSString).pathExtension
        var candidate = name
        var number = 1
        while FileManager.default.fileExists(atPath: folder.appendingPathComponent(candidate).path) {
            candidate = kind.isEmpty ? "\(stem)-\(number)" : "\(stem)-\(number).\(kind)"
            number += 1
        }
        return folder.appendingPathComponent(candidate)
    }
}
