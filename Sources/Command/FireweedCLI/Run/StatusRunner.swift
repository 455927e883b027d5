// `fireweed status`.

import Fireweed
import Foundation

/// Prints whether the network, or a host, can be reached.
struct StatusRunner {
    /// A host, `HOST:PORT` or a URL; `nil` for the network.
    let target: String?
    /// Has `--watch`, and the options of TLS.
    let invocation: Invocation

    func run() async throws -> ExitCode {
        let place = target.map(StatusTarget.init)
        if let target, place?.host.isEmpty != false {
            Terminal.tell("fireweed: \"\(target)\" is not a host, HOST:PORT or a URL\n")
            return .usage
        }
        if let place, let port = place.port, !invocation.watches {
            return try await HostProbe(target: place, port: port, invocation: invocation).run()
        }
        guard let manager = place.map({ NetworkReachabilityManager(host: $0.host) }) ?? NetworkReachabilityManager()
        else { return .usage }
        guard invocation.watches else {
            let status = manager.status
            Terminal.write("\(Self.text(of: status))\n")
            return Self.code(of: status)
        }
        for await status in manager.statuses() {
            Terminal.write("\(ClockText.now(hasMilliseconds: true)) \(Self.text(of: status))\n")
        }
        return .success
    }

    /// Returns a status in words.
    ///
    /// The status is whether the kernel has a route; nothing is sent.
    static func text(of status: NetworkReachabilityManager.NetworkReachabilityStatus) -> String {
        switch status {
        case .unknown: "unknown: the kernel does not tell"
        case .notReachable: "not reachable: there is no route, or the name is not known"
        case .reachable(.ethernetOrWiFi): "there is a route, over Ethernet or Wi-Fi"
        case .reachable(.cellular): "there is a route, over mobile broadband"
        }
    }

    static func code(of status: NetworkReachabilityManager.NetworkReachabilityStatus) -> ExitCode {
        switch status {
        case .reachable: .success
        case .notReachable: .network
        case .unknown: .failure
        }
    }
}

/// The target of `fireweed status`.
struct StatusTarget: Equatable {
    let host: String
    /// `nil` if only a host is given.
    let port: Int?
    /// True for the schemes https and wss, and without a scheme for port 443.
    let isSecure: Bool

    init(_ text: String) {
        let scheme = text.firstRange(of: "://").map { text[..<$0.lowerBound].lowercased() }
        let rest = text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...]
        let authority = rest.prefix { !"/?#".contains($0) }
        let place = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        let isAddress = scheme == nil && place.count { $0 == ":" } > 1 && !place.hasPrefix("[")
        let end = isAddress ? nil : place.lastIndex(of: ":").flatMap { place[$0...].contains("]") ? nil : $0 }
        let name = String(end.map { place[..<$0] } ?? place).trimmingCharacters(in: ["[", "]"])
        // `:8080` is on this machine, as in URLs.
        host = scheme == nil && end == place.startIndex && place.count > 1 ? "localhost" : name
        let usual = scheme.map { ["https", "wss"].contains($0) ? 443 : 80 }
        port = end.map { Int(place[place.index(after: $0)...]) ?? -1 } ?? usual
        isSecure = scheme.map { ["https", "wss"].contains($0) } ?? (port == 443)
    }
}
