// Request fields in the form that libcurl takes them in.

import CCurl

/// Makes libcurl's list of custom fields.
///
/// The caller owns the list.
enum FieldList {
    /// Fields that follow from the content, so that a caller's own word for them could only contradict the wire.
    private static let framing = ["Content-Length", "Transfer-Encoding"]

    /// Credentials for a proxy, which no origin may see (RFC 9110 §11.7.2).
    private static let proxyCredentials = "Proxy-Authorization"

    static func make(
        _ block: FieldBlock, hasContent: Bool, writing: FieldWriting?
    ) -> UnsafeMutablePointer<curl_slist>? {
        var list = GrowingList()
        // "Name:" keeps libcurl from adding a field of its own.
        for name in writing?.omittedNames ?? [] where !framing.contains(where: name.isEqualIgnoringASCIICase) {
            list.append("\(name):")
        }
        for field in writing?.lines(of: block.fields) ?? block.fields
        where !framing.contains(where: field.name.isEqualIgnoringASCIICase) {
            if field.name.isEqualIgnoringASCIICase(proxyCredentials) { continue }
            list.append(field)
        }
        if hasContent {
            // libcurl's own additions that nobody asked for.
            if !block.contains("Expect") { list.append("Expect:") }
            if !block.contains("Content-Type") { list.append("Content-Type:") }
        }
        return list.first
    }

    /// The fields that go to a proxy alone: with its `CONNECT`, or with a request message that it forwards.
    static func makeForProxy(_ block: FieldBlock) -> UnsafeMutablePointer<curl_slist>? {
        var list = GrowingList()
        for field in block.fields where field.name.isEqualIgnoringASCIICase(proxyCredentials) { list.append(field) }
        return list.first
    }
}

/// A list of libcurl's with its end at hand: `curl_slist_append` walks through all of it.
private struct GrowingList {
    private(set) var first: UnsafeMutablePointer<curl_slist>?
    private var last: UnsafeMutablePointer<curl_slist>?

    mutating func append(_ field: Field) {
        if let octets = field.octets {
            let line = Array("\(field.name): ".utf8) + octets + [0]
            return line.withUnsafeBytes {
                append(curl_slist_append(nil, $0.baseAddress?.assumingMemoryBound(to: CChar.self)))
            }
        }
        // "Name;" is libcurl's way to say a field without a value; "Name:" would take the field away.
        append(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
    }

    mutating func append(_ text: String) {
        append(curl_slist_append(nil, text))
    }

    private mutating func append(_ node: UnsafeMutablePointer<curl_slist>?) {
        guard let node else { return }
        if let last { last.pointee.next = node } else { first = node }
        last = node
    }
}
