// The name of a downloaded file.

import Fireweed
import Foundation

/// Names for downloads: from the response, else from the URL; never a path, never over a file that is there.
enum FileName {
    static func free(for response: HTTPURLResponse, url: URL, in folder: URL = URL(fileURLWithPath: ".")) -> URL {
        let suggested = response.value(forHTTPHeaderField: "Content-Disposition").flatMap(disposition)
        let name = [suggested, url.lastPathComponent].lazy.compactMap { $0.flatMap(sanitised) }.first ?? "download"
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

    /// The last part of a name, without what would hide it or steer a terminal; `nil` when nothing is left.
    static func sanitised(_ name: String) -> String? {
        let last = name.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
        let visible = last.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        let trimmed = String(String.UnicodeScalarView(visible)).trimmingCharacters(in: .whitespaces).drop { $0 == "." }
        return trimmed.isEmpty ? nil : String(trimmed.prefix(200))
    }

    /// The `filename` of a `Content-Disposition` (RFC 6266); `filename*` wins.
    static func disposition(_ value: String) -> String? {
        var plain: String?
        for part in value.split(separator: ";").dropFirst() {
            let halves = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            guard halves.count == 2 else { continue }
            switch halves[0].lowercased() {
            case "filename*":
                let encoded = halves[1].split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
                if encoded.count == 3, let name = String(encoded[2]).removingPercentEncoding { return name }
            case "filename": plain = halves[1].trimmingCharacters(in: CharacterSet(charactersIn: "\""))
            default: break
            }
        }
        return plain
    }
}
