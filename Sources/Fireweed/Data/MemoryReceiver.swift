// A response's content in memory.

import FireweedTransport
import Foundation
import Synchronization

/// Gathers the content of a response in memory.
final class MemoryReceiver: ResponseReceiver {
    private let content = Mutex<Data?>(nil)

    /// The content so far; `nil` before the first byte.
    var data: Data? { content.withLock { $0 } }

    func receive(_ bytes: UnsafeRawBufferPointer, of attempt: Attempt) -> Intake {
        content.withLock { data in
            if data == nil {
                data = Data(bytes)
            } else {
                data?.append(contentsOf: bytes)
            }
        }
        return .wantsMore
    }

    func request(_ request: Request, reached stage: ConclusionStage) {
        switch stage {
        case .retry: content.withLock { $0 = nil }
        case .contentEnd, .validated, .outcome, .delivery: break
        }
    }
}
