// Request targets: path and query.

import Foundation

/// The parts of a request target (RFC 9112 §3.2), decoded.
package enum ReceivedTarget {
    package static func path(of target: String) -> String {
        let path = target.prefix { $0 != "?" }
        return String(path).removingPercentEncoding ?? String(path)
    }

    static func query(of target: String) -> [(name: String, value: String)] {
        guard let mark = target.firstIndex(of: "?") else { return [] }
        return target[target.index(after: mark)...].split(separator: "&").map { pair in
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(decoded)
            return (halves[0], halves.count > 1 ? halves[1] : "")
        }
    }

    private static func decoded(_ text: Substring) -> String {
        let spaced = text.replacingOccurrences(of: "+", with: " ")
        return spaced.removingPercentEncoding ?? spaced
    }
}
