// The names that servers suggest for files.

import Fireweed
import Foundation
import FoundationNetworking

extension FuzzTarget {
    static let contentDisposition = FuzzTarget("content-disposition", maximumByteCount: 1024) { bytes in
        let text = bytes.text
        if let name = ContentDisposition(text).fileName.flatMap(SuggestedFileName.sanitised) {
            try check(name)
            try expectEqual(SuggestedFileName.sanitised(name), name, "a clean name stays as it is")
        }
        try checkWriting(text)
        guard !text.hasByte("\n"), !text.hasByte("\r"), !text.hasByte("\0"),
            let response = HTTPURLResponse(
                url: Samples.url, statusCode: 200, httpVersion: nil, headerFields: ["Content-Disposition": text])
        else { return }
        let place = URL(fileURLWithPath: "/fireweed/folder").appendingPathComponent(
            SuggestedFileName.suggestion(for: response))
        try expectEqual(
            place.deletingLastPathComponent().path, "/fireweed/folder", "a server does not choose the folder")
        try check(place.lastPathComponent)
    }

    private static func check(_ name: String) throws {
        try expect(!name.isEmpty && name.utf8.count <= 255, "a file system can hold the name")
        try expect(!name.hasByte("/") && !name.hasByte("\\"), "a name is no path")
        try expect(!name.hasPrefix("."), "a name hides nothing")
        try expect(!name.hasControls && !name.hasByte("\t"), "a name steers no terminal")
        let turners = name.unicodeScalars.filter {
            (0x202A...0x202E).contains($0.value) || (0x2066...0x2069).contains($0.value)
        }
        try expect(turners.isEmpty, "a name reads as it is")
    }

    /// The text as a name, written both ways.
    private static func checkWriting(_ text: String) throws {
        let quoted = text.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined()
        try expectEqual(
            ContentDisposition("attachment; x=\";\"; filename=\"\(quoted)\"").fileName, text, "quotes hold any name")
        let encoded = text.utf8.map { String(format: "%%%02x", $0) }.joined()
        try expectEqual(
            ContentDisposition("attachment; filename=a; FileName*=utf-8'en'\(encoded)").fileName, text,
            "a name in UTF-8 wins")
    }
}
