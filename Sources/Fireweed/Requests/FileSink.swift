// Writes a download's content to its file, off the loop.

import Dispatch
import FireweedTransport
import Foundation
import Glibc
import Synchronization

/// Gathers pieces into large writes, done on a queue of its own.
final class FileSink: Sendable {
    private struct State {
        var gathered = Data()
        var backlog = Backlog()
        var error: (any Error)?
    }

    /// So much is written at a time.
    private static let writeSize = 256 * 1024

    let url: URL
    private let descriptor: Int32
    private let queue = DispatchQueue(label: "fireweed.file")
    private let state = Mutex(State())
    private let onRoom: @Sendable () -> Void

    /// Makes a new file; `onRoom` is called when there is room again after `append` said `.pause`.
    init(at url: URL, onRoom: @escaping @Sendable () -> Void) throws {
        self.url = url
        self.onRoom = onRoom
        descriptor = open(url.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit { close(descriptor) }

    /// Takes a piece; on the transport's thread.
    func append(_ bytes: UnsafeRawBufferPointer) -> Intake {
        enum Step { case taken, write(Data), full }
        let step = state.withLock { state -> Step in
            guard !state.backlog.isFull else { return .full }
            state.gathered.append(contentsOf: bytes)
            guard state.gathered.count >= Self.writeSize else { return .taken }
            let piece = state.gathered
            state.backlog.add(piece.count)
            state.gathered = Data(capacity: Self.writeSize + 64 * 1024)
            return .write(piece)
        }
        switch step {
        case .taken: return .taken
        case .full: return .pause
        case .write(let piece):
            queue.async { self.write(piece) }
            return .taken
        }
    }

    /// Writes what is left; throws the first error of all writes.
    ///
    /// Waits for the disk.
    func finish() throws {
        queue.sync {
            let rest = state.withLock { state in
                defer { state.gathered = Data() }
                return state.gathered
            }
            write(rest)
        }
        if let error = state.withLock({ $0.error }) { throw error }
    }

    private func write(_ piece: Data) {
        let hasFailed = state.withLock { $0.error != nil }
        let failure = hasFailed ? nil : writeAll(piece)
        let hasRoom = state.withLock { state in
            state.error = state.error ?? failure
            return state.backlog.remove(min(piece.count, state.backlog.byteCount))
        }
        if hasRoom { onRoom() }
    }

    private func writeAll(_ piece: Data) -> (any Error)? {
        piece.withUnsafeBytes { bytes in
            var offset = 0
            while offset < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress?.advanced(by: offset), bytes.count - offset)
                if count > 0 {
                    offset += count
                } else if errno != EINTR {
                    return POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
                }
            }
            return nil
        }
    }
}
