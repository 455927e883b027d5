// The client's signature of a TLS handshake, on another thread.

import Glibc
import Synchronization

/// Makes the step of a handshake that signs: with a key of RSA-4096, it takes longer than a turn of a loop may.
///
/// The stream belongs to the other thread from `make` to the reply, and is given back, or freed, on the loop's. The
/// client stays as long, with the log of keys that OpenSSL may write to meanwhile.
final class HandshakeSignature: @unchecked Sendable {
    // SAFETY: the stream is used by one thread at a time: it is handed over and given back through locks, and the
    // handshake, which is held meanwhile, does not touch it.
    private let stream: Unmanaged<TLSStream>
    private let client: Unmanaged<TLSClient>
    private let isUnneeded = Atomic(false)

    init(of stream: TLSStream, by client: TLSClient) {
        self.stream = .passRetained(stream)
        self.client = .passRetained(client)
    }

    /// Signatures leave cores to the loops.
    private static let threads = BlockingThreads(
        name: "fireweed-sign", limit: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)) / 2), lingering: .seconds(1))

    /// Signs on another thread, and calls `reply` on the loop's, once; where no thread can be had, the caller's signs.
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

    /// The handshake has ended: a signature that waits for a thread is not made.
    func cancel() {
        isUnneeded.store(true, ordering: .relaxed)
    }
}
