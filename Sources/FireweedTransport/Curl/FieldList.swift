// Request fields in the form that libcurl takes them in.

import CCurl

/// Makes libcurl's list of custom fields.
///
/// The caller owns the list.
enum FieldList {
    /// Fields that follow from the content, so that a caller's own word for them could only contradict the wire.
    private static let framing = ["Content-Length", "Transfer-Encoding"]

    static func make(_ block: FieldBlock, hasContent: Bool) -> UnsafeMutablePointer<curl_slist>? {
        var list: UnsafeMutablePointer<curl_slist>?
        for field in block.fields where !framing.contains(where: field.name.isEqualIgnoringASCIICase) {
            // "Name;" is libcurl's way to say a field without a value; "Name:" would take the field away.
            list = curl_slist_append(list, field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        if hasContent {
            // libcurl's own additions that nobody asked for.
            if !block.contains("Expect") { list = curl_slist_append(list, "Expect:") }
            if !block.contains("Content-Type") { list = curl_slist_append(list, "Content-Type:") }
        }
        return list
    }
}
