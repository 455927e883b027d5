// Request fields in the form that libcurl takes them in.

import CCurl

/// Makes libcurl's list of custom fields.
///
/// The caller owns the list.
enum FieldList {
    /// Fields that follow from the content, so that a caller's own word for them could only contradict the wire.
    private static let framing = ["Content-Length", "Transfer-Encoding"]

    static func make(_ block: FieldBlock, hasContent: Bool) -> UnsafeMutablePointer<curl_slist>? {
        var list = GrowingList()
        for field in block.fields where !framing.contains(where: field.name.isEqualIgnoringASCIICase) {
            // "Name;" is libcurl's way to say a field without a value; "Name:" would take the field away.
            list.append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        if hasContent {
            // libcurl's own additions that nobody asked for.
            if !block.contains("Expect") { list.append("Expect:") }
            if !block.contains("Content-Type") { list.append("Content-Type:") }
        }
        return list.first
    }
}

/// A list of libcurl's with its end at hand: `curl_slist_append` walks through all of it.
private struct GrowingList {
    private(set) var first: UnsafeMutablePointer<curl_slist>?
    private var last: UnsafeMutablePointer<curl_slist>?

    mutating func append(_ text: String) {
        guard let node = curl_slist_append(nil, text) else { return }
        if let last { last.pointee.next = node } else { first = node }
        last = node
    }
}
