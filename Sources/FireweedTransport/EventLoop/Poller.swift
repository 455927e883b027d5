// The kernel's side of a loop: one epoll set and the eventfd that interrupts its wait.

import CLinux
import Glibc

/// Owns an epoll set and an eventfd, which live as long as the loop, and so as long as the process.
struct Poller: Sendable {
    /// The tag of the eventfd: no socket has this tag.
    static let wakeTag = UInt64.max

    private let epoll: Int32
    private let wakeDescriptor: Int32

    /// `nil` when the process is out of descriptors.
    init?() {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        wakeDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        var event = fw_epoll_event(EPOLLIN.rawValue, Self.wakeTag)
        guard epoll >= 0, wakeDescriptor >= 0, epoll_ctl(epoll, EPOLL_CTL_ADD, wakeDescriptor, &event) == 0 else {
            close()
            return nil
        }
    }

    /// Closes both descriptors, for a loop that never runs.
    func close() {
        for descriptor in [epoll, wakeDescriptor] where descriptor >= 0 { _ = Glibc.close(descriptor) }
    }

    /// Interrupts `wait`; callable from any thread.
    func wake() {
        var one: UInt64 = 1
        // EAGAIN would mean that the counter is full of earlier wake-ups: the loop wakes anyway.
        _ = write(wakeDescriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Empties the eventfd after a wake-up.
    func acknowledgeWake() {
        var count: UInt64 = 0
        _ = read(wakeDescriptor, &count, MemoryLayout<UInt64>.size)
    }

    /// Waits for events; `milliseconds` of -1 waits without limit.
    ///
    /// Returns the number of events; 0 when the time is over or a signal interrupts the wait.
    func wait(into events: UnsafeMutableBufferPointer<epoll_event>, milliseconds: Int32) -> Int {
        max(0, Int(epoll_wait(epoll, events.baseAddress, Int32(events.count), milliseconds)))
    }

    func add(_ descriptor: Int32, events: UInt32, tag: UInt64) {
        control(EPOLL_CTL_ADD, descriptor, events, tag)
    }

    func remove(_ descriptor: Int32) {
        control(EPOLL_CTL_DEL, descriptor, 0, 0)
    }

    private func control(_ operation: Int32, _ descriptor: Int32, _ events: UInt32, _ tag: UInt64) {
        var event = fw_epoll_event(events, tag)
        // A removal fails (EBADF, ENOENT) only when the descriptor is gone already, which does no harm. After a failed
        // addition, the transfer ends by its time-out.
        _ = epoll_ctl(epoll, operation, descriptor, &event)
    }
}
