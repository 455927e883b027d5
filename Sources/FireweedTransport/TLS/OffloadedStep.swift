// A step of a TLS handshake on another thread.

import Glibc
import Synchronization

/// Makes a step of a handshake on another thread: a signature with an RSA-4096 key takes longer than an iteration of
/// the loop may, and so do the steps of many handshakes together.
///
/// The stream belongs to the other thread from `make` to the reply, and is given back, or freed, on the loop's thread.
/// The client is kept alive for the same time, since OpenSSL may write to the client's key log.
final class OffloadedStep: @unchecked Sendable {
    // SAFETY: one thread at a time uses the stream. The locks of the thread pool and of the loop's queue order the
    // uses; until the reply, the handshake is held and does not touch the stream.
    private let stream: Unmanaged<TLSStream>
    private let client: Unmanaged<TLSClient>
    private let isUnneeded = Atomic(false)

    init(of stream: TLSStream, by client: TLSClient) {
        self.stream = .passRetained(stream)
        self.client = .passRetained(client)
    }

    /// At most half as many threads as there are cores, with a lower priority than the event loops.
    private static let threads = BlockingThreads(
        name: "fireweed-tls", limit: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)) / 2), lingering: .seconds(1),
        niceness: 10)

    /// Makes the step on another thread, then calls `reply` once on the loop's thread; if no thread can be started, the
    /// calling thread makes the step.
    func make(in context: LoopContext, _ reply: @escaping @Sendable (TLSStream.HandshakeStep) -> Void) {
        let entry = context.offloadedSteps.begin(at: context.now)
        Self.threads.run { [self, loop = context.loop] _ in
            let isNeeded = !isUnneeded.load(ordering: .relaxed)
            let step = isNeeded ? stream._withUnsafeGuaranteedRef { $0.shakeHandsOffLoop() } : .wantsRecords
            loop.post { [self] context in
                context.offloadedSteps.end(entry, at: context.now)
                reply(step)
                stream.release()
                client.release()
            }
        }
    }

    /// Called when the handshake has ended: a step that still waits for a thread is not made.
    func cancel() {
        isUnneeded.store(true, ordering: .relaxed)
    }
}
