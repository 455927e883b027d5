import Alamofire
import Foundation

@MainActor
final class ReachabilityService {
    static let shared = ReachabilityService()

    private(set) var isOnline = true
    private let manager = NetworkReachabilityManager(host: "www.example.com") ?? NetworkReachabilityManager.default

    func start() {
        let started = manager?.startListening { status in
            switch status {
            case .notReachable: self.isOnline = false
            case .unknown: break
            case .reachable(.cellular): self.isOnline = true
            case .reachable(.ethernetOrWiFi): self.isOnline = true
            }
        }
        print(started ?? false, manager?.isReachable ?? false, manager?.isReachableOnCellular ?? false)
    }

    func stop() {
        manager?.stopListening()
    }
}

final class WatchingManager: NetworkReachabilityManager, @unchecked Sendable {
    override func startListening(
        onQueue queue: DispatchQueue = .main, onUpdatePerforming listener: @escaping Listener
    ) -> Bool {
        super.startListening(onQueue: .global(), onUpdatePerforming: listener)
    }
}
