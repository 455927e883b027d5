// Addresses and routes that the options have, in the form that libcurl takes them in.

import CCurl
import Foundation

/// Makes libcurl's list of known addresses.
///
/// The caller owns the list.
enum AddressList {
    /// The list for the host of a URL; `nil` when the options know none.
    static func make(for url: String, options: TransportOptions) -> UnsafeMutablePointer<curl_slist>? {
        guard !options.addressOverrides.isEmpty, let parsed = URL(string: url), let host = parsed.host,
            let known = CanonicalHost.rule(for: host, in: options.addressOverrides), !known.isEmpty
        else { return nil }
        let port = parsed.port ?? (parsed.scheme == "https" ? 443 : 80)
        // libcurl looks the name up with the dot at its end, if it has one.
        let name = CanonicalHost.text(of: host) + (host.hasSuffix(".") ? "." : "")
        return curl_slist_append(nil, "\(name):\(port):\(known.joined(separator: ","))")
    }

    /// The list of `CURLOPT_CONNECT_TO`; `nil` when the options have no routes.
    static func makeRoutes(options: TransportOptions) -> UnsafeMutablePointer<curl_slist>? {
        options.connectionRoutes.reduce(nil) { curl_slist_append($0, $1.text) }
    }
}
