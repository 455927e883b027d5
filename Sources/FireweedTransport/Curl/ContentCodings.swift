// The content codings that libcurl takes off (RFC 9110 §8.4).

import CCurl

/// What this libcurl can decode.
enum ContentCodings {
    /// Names in lower case; `x-gzip` is an alias (RFC 9110 §8.4.1.3), `none` is libcurl's word for `identity`.
    private static let known: Set<String> = {
        var names: Set<String> = ["identity", "none"]
        let features = curl_version_info(CURLVERSION_FIRST).pointee.features
        for (feature, codings) in [
            (CURL_VERSION_LIBZ, ["gzip", "x-gzip", "deflate"]), (CURL_VERSION_BROTLI, ["br"]),
            (CURL_VERSION_ZSTD, ["zstd"]),
        ] where features & Int32(feature) != 0 {
            names.formUnion(codings)
        }
        return names
    }()

    /// True when every coding of a response's content can be taken off.
    static func areKnown(of head: ResponseHead) -> Bool {
        guard let list = head.value(of: "Content-Encoding") else { return true }
        return list.unicodeScalars.split(separator: ",").allSatisfy { part in
            let name = String(part).lowercased().filter { $0 != " " && $0 != "\t" }
            return name.isEmpty || known.contains(name)
        }
    }
}
