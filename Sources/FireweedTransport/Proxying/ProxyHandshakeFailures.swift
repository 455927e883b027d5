// The failure of a proxy handshake.

import Foundation

extension TransferFailure {
    /// The proxy did not connect to the host, or its response was invalid.
    static func proxyFailed(_ detail: String) -> TransferFailure {
        .exchange(.cannotConnectToHost, detail: detail, engineCode: 0)
    }
}
