// The loops of the process, made at their first use.

import Synchronization

/// The event loops that all sessions share.
package enum EventLoopGroup {
    private static let loops = Mutex<[EventLoop]>([])

    /// The first `count` loops of the process, at least one and at most 64; fewer, or none, where the process is out of
    /// descriptors or threads.
    package static func loops(_ count: Int) -> [EventLoop] {
        let wanted = min(max(count, 1), 64)
        return loops.withLock { loops in
            // A child of fork(2) makes other loops: the threads of its parent's loops do not exist in the child.
            if loops.first?.isFromParentProcess == true { loops = [] }
            while loops.count < wanted, let loop = EventLoop(name: "fireweed-loop-\(loops.count)") {
                loops.append(loop)
            }
            return Array(loops.prefix(wanted))
        }
    }
}
