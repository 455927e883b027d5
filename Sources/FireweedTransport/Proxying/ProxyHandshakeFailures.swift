// The failure of a proxy handshake.

import Foundation

extension TransferFailure {
    /// A proxy made no connection to the host, or its response was invalid.
    static func proxyFailed(_ detail: String) -> TransferFailure {
        .exchange(.cannotConnectToHost, detail: detail, engineCode: 0)
    }
}
