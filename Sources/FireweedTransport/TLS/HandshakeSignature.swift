// The client's signature of a TLS handshake, on another thread.

import Glibc
import Synchronization

/// Runs the signing step of a handshake on another thread: with an RSA-4096 key, the signature takes longer than an
/// iteration of the loop may.
///
/// The stream belongs to the other thread from `make` to the reply, and is given back, or freed, on the loop's thread.
/// The client is kept alive for the same time, since OpenSSL may write to the client's key log.
final class HandshakeSignature: @unchecked Sendable {
    // SAFETY: one thread at a time uses the stream. The locks of the thread pool and of the loop's queue order the
    // uses; until the reply, the handshake is paused and does not touch the stream.
    private let stream: Unmanaged<TLSStream>
    private let client: Unmanaged<TLSClient>
    private let isUnneeded = Atomic(false)

    init(of stream: TLSStream, by client: TLSClient) {
        self.stream = .passRetained(stream)
        self.client = .passRetained(client)
    }

    /// At most half as many threads as there are cores, with a lower priority than the event loops.
    private static let threads = BlockingThreads(
        name: "fireweed-sign", limit: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)) / 2), lingering: .seconds(1),
        niceness: 10)

    /// Signs on another thread, then calls `reply` once on the loop's thread; if no thread can be started, the calling
    /// thread signs.
    func make(on loop: EventLoop, _ reply: @escaping @Sendable (TLSStream.Signature) -> Void) {
        Self.threads.run { [self] _ in
            let isNeeded = !isUnneeded.load(ordering: .relaxed)
            let signature = isNeeded ? stream._withUnsafeGuaranteedRef { $0.sign() } : .wantsRecords
            loop.post { [self] _ in
                reply(signature)
                stream.release()
                client.release()
            }
        }
    }

    /// Called when the handshake has ended: a signature that still waits for a thread is not made.
    func cancel() {
        isUnneeded.store(true, ordering: .relaxed)
    }
}
