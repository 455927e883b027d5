// The negotiation of permessage-deflate.

/// The parameters of permessage-deflate that both sides have agreed on (RFC 7692 §7.1).
package struct DeflateAgreement: Equatable {
    package var clientTakesContextOver = true
    package var serverTakesContextOver = true
    package var clientWindowBits = 15
    package var serverWindowBits = 15

    package init(
        clientTakesContextOver: Bool = true, serverTakesContextOver: Bool = true, clientWindowBits: Int = 15,
        serverWindowBits: Int = 15
    ) {
        self.clientTakesContextOver = clientTakesContextOver
        self.serverTakesContextOver = serverTakesContextOver
        self.clientWindowBits = clientWindowBits
        self.serverWindowBits = serverWindowBits
    }

    /// Returns the value of `Sec-WebSocket-Extensions` that offers this compression.
    package static func offer(_ compression: WebSocketCompression) -> String {
        var parts = ["permessage-deflate"]
        if !compression.allowsClientContextTakeover { parts.append("client_no_context_takeover") }
        if !compression.allowsServerContextTakeover { parts.append("server_no_context_takeover") }
        // Without a value, the parameter only permits the server to use it in its answer (§7.1.2.2).
        parts.append(
            compression.clientMaximumWindowBits.map { "client_max_window_bits=\($0)" } ?? "client_max_window_bits")
        if let bits = compression.serverMaximumWindowBits { parts.append("server_max_window_bits=\(bits)") }
        return parts.joined(separator: "; ")
    }

    /// Parses the answer to an offer; `nil` if the server accepted no compression; throws if the answer does not match
    /// the offer.
    package static func answer(
        _ values: [String], to offer: WebSocketCompression?
    ) throws(HandshakeFault) -> DeflateAgreement? {
        let extensions = values.flatMap { $0.unicodeScalars.split(separator: ",") }.map(trimmed).filter { !$0.isEmpty }
        guard !extensions.isEmpty else { return nil }
        let parts = extensions[0].unicodeScalars.split(separator: ";", omittingEmptySubsequences: false).map(trimmed)
        guard let offer, extensions.count == 1, parts.first == "permessage-deflate" else {
            throw HandshakeFault(text: "Sec-WebSocket-Extensions names an extension that was not offered")
        }
        var agreement = DeflateAgreement(
            clientTakesContextOver: offer.allowsClientContextTakeover,
            clientWindowBits: offer.clientMaximumWindowBits ?? 15)
        var seen: Set<String> = []
        for part in parts.dropFirst() {
            let halves = part.unicodeScalars.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
                trimmed)
            guard let name = halves.first, seen.insert(name).inserted else { throw fault(part) }
            try agreement.apply(name, halves.count == 2 ? halves[1] : nil, offer: offer)
        }
        guard offer.allowsServerContextTakeover || !agreement.serverTakesContextOver else {
            throw HandshakeFault(text: "the peer ignores server_no_context_takeover")
        }
        if let most = offer.serverMaximumWindowBits,
            !seen.contains("server_max_window_bits") || agreement.serverWindowBits > most
        {
            throw HandshakeFault(text: "the peer ignores server_max_window_bits")
        }
        return agreement
    }

    private mutating func apply(
        _ name: String, _ value: String?, offer: WebSocketCompression
    ) throws(HandshakeFault) {
        switch (name, value) {
        case ("client_no_context_takeover", nil): clientTakesContextOver = false
        case ("server_no_context_takeover", nil): serverTakesContextOver = false
        case ("client_max_window_bits", .some(let text)):
            guard let bits = Self.bits(text), bits <= offer.clientMaximumWindowBits ?? 15 else {
                throw Self.fault(name)
            }
            clientWindowBits = bits
        case ("server_max_window_bits", .some(let text)):
            guard let bits = Self.bits(text) else { throw Self.fault(name) }
            serverWindowBits = bits
        default: throw Self.fault(name)
        }
    }

    /// Parses a number of window bits: 8 to 15 without leading zeros, with or without quotes (§7.1.2).
    private static func bits(_ text: String) -> Int? {
        let bare =
            text.count >= 2 && text.hasPrefix("\"") && text.hasSuffix("\"") ? String(text.dropFirst().dropLast()) : text
        guard let bits = Int(bare), (8...15).contains(bits), String(bits) == bare else { return nil }
        return bits
    }

    private static func fault(_ part: String) -> HandshakeFault {
        HandshakeFault(text: "permessage-deflate is answered with a parameter that is wrong here: \(part)")
    }

    /// Trims Unicode scalars instead of characters, since a combining character would hide the separator before it.
    private static func trimmed(_ text: Substring.UnicodeScalarView) -> String {
        let rest = text.drop { $0 == " " || $0 == "\t" }
        let end = rest.lastIndex { $0 != " " && $0 != "\t" }
        return end.map { String(rest[...$0]) } ?? ""
    }
}
