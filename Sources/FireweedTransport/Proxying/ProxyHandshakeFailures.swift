// Failures of proxies.

import Foundation

extension TransferFailure {
    /// A proxy makes no connection for us, or cannot be understood.
    static func proxyFailed(_ detail: String) -> TransferFailure {
        .exchange(.cannotConnectToHost, detail: detail, engineCode: 0)
    }
}
