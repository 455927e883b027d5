// `fireweed status`.

import Fireweed
import Foundation

/// Prints whether the network, or a host, can be reached.
struct StatusRunner {
    let host: String?
    let watches: Bool

    func run() async -> ExitCode {
        guard let manager = host.map({ NetworkReachabilityManager(host: $0) }) ?? NetworkReachabilityManager() else {
            Terminal.tell("fireweed: the host is empty\n")
            return .usage
        }
        guard watches else {
            let status = manager.status
            Terminal.write("\(Self.text(of: status))\n")
            return Self.code(of: status)
        }
        for await status in manager.statuses() { Terminal.write("\(Self.clock(Date())) \(Self.text(of: status))\n") }
        return .success
    }

    static func text(of status: NetworkReachabilityManager.NetworkReachabilityStatus) -> String {
        switch status {
        case .unknown: "unknown: the kernel does not tell"
        case .notReachable: "not reachable"
        case .reachable(.ethernetOrWiFi): "reachable over Ethernet or Wi-Fi"
        case .reachable(.cellular): "reachable over mobile broadband"
        }
    }

    static func code(of status: NetworkReachabilityManager.NetworkReachabilityStatus) -> ExitCode {
        switch status {
        case .reachable: .success
        case .notReachable: .network
        case .unknown: .failure
        }
    }

    private static func clock(_ date: Date) -> String {
        let formatter = DateFormatter()
        formatter.dateFormat = "HH:mm:ss.SSS"
        return formatter.string(from: date)
    }
}
