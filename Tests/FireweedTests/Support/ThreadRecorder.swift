// The thread of each callback.

import Fireweed
import Foundation
import Glibc
import Synchronization

/// Notes the thread that passes a station.
final class ThreadRecorder: Sendable {
    private let notes = Mutex<[String: (thread: UInt, name: String)]>([:])

    func note(_ station: String) {
        // The kernel's name of this thread; the calling one is always there.
        let name = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
        notes.withLock { $0[station] = (UInt(pthread_self()), name) }
    }

    func thread(_ station: String) -> UInt? { notes.withLock { $0[station]?.thread } }
    func name(_ station: String) -> String? { notes.withLock { $0[station]?.name } }
}

/// Notes where it runs, and gives the content.
struct NotingSerializer: DataResponseSerializerProtocol {
    let threads: ThreadRecorder

    func serialize(
        request: URLRequest?, response: HTTPURLResponse?, data: Data?, error: (any Error)?
    ) throws -> Data {
        threads.note("serialised")
        if let error { throw error }
        return data ?? Data()
    }
}
