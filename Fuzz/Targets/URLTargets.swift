// Targets for the URLs of callers.

import Fireweed
import FireweedTransport
import Foundation

extension FuzzTarget {
    /// A URL or a reference, as somebody typed it.
    static let urlText = FuzzTarget("url-text", maximumByteCount: 512) { bytes in
        let text = bytes.text
        let encoded = URLReference.encoded(text)
        try expectEqual(URLReference.encoded(encoded), encoded, "an escape is never escaped again")
        for candidate in [text, encoded, URL(string: encoded)?.absoluteString].compactMap({ $0 }) {
            try checkTarget(candidate)
        }
        guard let resolved = URLReference.resolve(text, against: Samples.url) else { return }
        try checkTarget(resolved.absoluteString)
        let again = URLReference.resolve(resolved.absoluteString, against: Samples.url)
        try expectEqual(again?.absoluteString, resolved.absoluteString, "what is resolved leads to itself")
    }

    private static func checkTarget(_ text: String) throws {
        let target: RequestTarget
        do throws(TransferFailure) {
            target = try RequestTarget(text)
        } catch {
            let error = error.urlError(failingURL: "")
            try expect([.badURL, .unsupportedURL].contains(error.code), "a URL is refused as a URL")
            return try expect(!error.localizedDescription.hasControls, "a sentence steers no terminal")
        }
        let form = target.originForm
        try expect(form.utf8.first == 0x2F, "a target begins with a slash")
        try expect(form.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x23 }, "a target can stand on the wire")
        let host = target.host.utf8
        try expect(!host.isEmpty && host.allSatisfy { (0x21...0x7E).contains($0) }, "a host is ASCII")
        try expect(!["/", "?", "#", "@", "\\"].contains { target.host.hasByte($0) }, "a host is nothing else")
        try expect((0...65535).contains(target.port), "a port has 16 bits")
        let again = try RequestTarget(target.absoluteForm)
        try expectEqual(again.absoluteForm, target.absoluteForm, "a target leads to itself")
        try expectEqual(again.authorityForm, target.authorityForm, "a target leads to its own host and port")
    }
}
