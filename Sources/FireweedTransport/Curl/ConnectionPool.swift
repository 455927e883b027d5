// The connections of one session on one loop.

import CCurl
import CLinux
import Foundation
import Glibc

/// One `CURLM`: the connections of a session, the transfers that run on them, and the handles that are free.
///
/// It lives on its loop's thread; the compiler keeps it there, since it is made with the loop's context in hand.
final class ConnectionPool {
    let settings: PoolSettings
    let context: LoopContext
    var multi: UnsafeMutableRawPointer
    /// Where all handles of the pool keep TLS sessions, to resume them (RFC 8446 §2.2).
    private let share: UnsafeMutableRawPointer
    /// Where the secrets of connections go, if anywhere.
    let keyLog: KeyLog?
    private(set) var running: [Transfer] = []
    /// Handles for the next transfers, by whether they read much at a time.
    private var freeHandles: [EasyHandle] = []
    private var freeLargeHandles: [EasyHandle] = []
    private var queues: [String: OriginQueue] = [:]
    /// The one that was used last, which is mostly the one that is wanted next.
    private var lastQueue: OriginQueue?
    private var isAdmitting = false
    var isShutDown = false
    /// How often libcurl was let work.
    var driveCount: UInt64 = 0
    let meter = MovementMeter()
    var framing = FramingWatch()
    var sockets = OriginSockets()
    var alerts = ConnectionAlerts()
    /// There while connections may speak HTTP/2 in clear text.
    private(set) var watchdog: ReadingWatchdog?
    /// When libcurl wants to be called, if at all.
    var engineDeadline: LoopInstant?
    /// When the next transfer can time out at the earliest.
    var sweepDeadline: LoopInstant?
    /// When the pool has been idle for so long that its connections are closed.
    var idleDeadline: LoopInstant?

    /// So many handles are kept for the next transfers; each may hold its receive buffer.
    private static let freeHandleLimit = 256
    /// The same for those that read much at a time.
    private static let largeFreeHandleLimit = 8
    /// After so many nanoseconds in which nothing of a stream of HTTP/2 moved, libcurl is reminded of it.
    static let reminderDelay: LoopInstant = 250_000_000
    /// When there are more origins than this, the ones with nothing to do are forgotten.
    private static let queueLimit = 256

    init(settings: PoolSettings, context: LoopContext) {
        self.settings = settings
        self.context = context
        multi = Self.makeMulti(settings)
        share = Self.makeShare()
        keyLog = settings.options.keyLogFile.flatMap { KeyLog($0) }
        adopt(multi)
        context.add(self)
    }

    deinit {
        // `shutDown` has emptied it, unless the process never got to that; nothing is running any more either way.
        freeHandles.removeAll()
        freeLargeHandles.removeAll()
        curl_multi_cleanup(multi)
        curl_share_cleanup(share)
    }

    // MARK: Transfers

    func start(_ transfer: Transfer) {
        guard case .attach = transfer.state.handle(isShutDown ? .cancel : .start) else {
            if isShutDown { report(transfer, .cancelled) }
            return
        }
        idleDeadline = nil
        transfer.slot = running.count
        transfer.report.startNanoseconds = wallClockNanoseconds()
        sockets.willServe(timeout: transfer.message.idleTimeout)
        running.append(transfer)
        lowerSweepDeadline(to: nextLook(at: transfer))
        let queue = queue(of: transfer.message.url)
        transfer.queue = queue
        if queue.enter(transfer) { launch(transfer) }
    }

    /// Gives a transfer to libcurl as soon as the addresses of its host are known; it has its place among the origin's
    /// running ones.
    private func launch(_ transfer: Transfer) {
        guard !waitsForAddresses(transfer) else { return lowerSweepDeadline(to: deadline(of: transfer)) }
        engage(transfer)
    }

    /// Continues with a transfer whose host was looked up.
    func lookupEnded(_ transfer: Transfer, _ outcome: HostResolver.Outcome) {
        guard transfer.state == .running, let lookup = transfer.lookup else { return }
        if let failure = takeAddresses(outcome, for: transfer, lookup) {
            transfer.failure = transfer.failure ?? failure
            return end(transfer, code: CURLE_OK)
        }
        transfer.lookup = nil
        engage(transfer)
    }

    private func engage(_ transfer: Transfer) {
        let handle = handle(for: transfer)
        transfer.handle = handle
        if watchdog == nil, settings.options.httpVersion == .http2, !transfer.message.url.hasPrefix("https:") {
            watchdog = ReadingWatchdog()
        }
        do {
            try handle.prepare(for: transfer)
            transfer.launchDrive = driveCount
            try checked(curl_multi_add_handle(multi, handle.easy))
            if !transfer.pauses.isEmpty { applyPauses(of: transfer) }
        } catch {
            transfer.failure = transfer.failure ?? error as? TransferFailure ?? .unreadableBody(error)
            end(transfer, code: CURLE_OK)
        }
    }

    func cancel(_ transfer: Transfer) {
        transfer.failure = transfer.failure ?? .cancelled
        perform(transfer.state.handle(.cancel), on: transfer, code: CURLE_OK)
    }

    /// Lets bytes of a transfer move as a decision says, if it is the latest one.
    func setFlow(_ flow: Flow, of transfer: Transfer) {
        guard transfer.follow(flow) else { return }
        flowChanged(of: transfer)
    }

    /// The content's reader has bytes again.
    func contentIsReady(of transfer: Transfer) {
        guard transfer.pauses.contains(.contentStarved) else { return }
        transfer.pauses.remove(.contentStarved)
        flowChanged(of: transfer)
    }

    /// Lets bytes of a transfer move as its flow says.
    func flowChanged(of transfer: Transfer) {
        guard transfer.state == .running else { return }
        // In line for a connection only the total time runs.
        if transfer.handle != nil || transfer.lastActivity != nil { touch(transfer) }
        // A transfer that stood still when it began has no time-out yet.
        lowerSweepDeadline(to: nextLook(at: transfer))
        applyPauses(of: transfer)
    }

    /// So much of a response that is not wanted is read, so that its connection can be used again.
    static let discardLimit = 64 * 1024
    /// So long it may take, in nanoseconds.
    private static let discardTime: LoopInstant = 100_000_000

    /// Reads the rest of a response for nobody, as long as that is cheaper than a new connection.
    func discard(_ transfer: Transfer) {
        guard transfer.hasDeliveredHead else { return cancel(transfer) }
        guard transfer.state == .running, transfer.discardDeadline == nil else { return }
        transfer.discardedByteCount = transfer.discardedByteCount ?? 0
        transfer.discardDeadline = context.now &+ Self.discardTime
        transfer.pauses.subtract([.suspended, .intakeFull])
        flowChanged(of: transfer)
    }

    /// Ends a transfer whose rest is not worth waiting for.
    func endDiscarded(_ transfer: Transfer) {
        end(transfer, code: CURLE_ABORTED_BY_CALLBACK)
    }

    /// Tells libcurl what stands still; ends a transfer that fails by what libcurl had kept of it.
    ///
    /// libcurl hands kept content over in that very call, and does not end the transfer when the content is refused.
    func applyPauses(of transfer: Transfer) {
        guard let handle = transfer.handle else { return }
        let code = handle.apply(transfer.pauses)
        // libcurl would wait for content after such a head.
        let isOver = handle.endsWithHead && !transfer.pauses.contains(.suspended)
        if code != CURLE_OK || isOver { end(transfer, code: isOver ? CURLE_ABORTED_BY_CALLBACK : code) }
    }

    /// Notes that a byte moved, or that the connection is being made.
    func touch(_ transfer: Transfer) {
        transfer.lastActivity = context.now
        meter.count &+= 1
    }

    /// Notes that content of the request was handed to the connection.
    func didSend(_ byteCount: Int, of transfer: Transfer) {
        touch(transfer)
        transfer.sentByteCount += Int64(byteCount)
        let expected: Int64? =
            switch transfer.content {
            case .none: nil
            case .data(let data, _): Int64(data.count)
            case .pump(let pump): pump.byteCount
            }
        transfer.requestContent = .begun
        if transfer.sentByteCount == expected { didSendAll(of: transfer) }
        transfer.consumer?.transferDidSend(byteCount, total: transfer.sentByteCount, expected: expected)
    }

    /// Notes that the content of the request was handed to the connection whole.
    func didSendAll(of transfer: Transfer) {
        guard transfer.requestContent == .begun else { return }
        transfer.requestContent = .whole
        transfer.report.requestEnd = (wallClockNanoseconds() - transfer.report.startNanoseconds) / 1000
    }

    /// Ends every transfer, closes every connection, and lets no new ones begin.
    func shutDown() {
        guard !isShutDown else { return }
        isShutDown = true
        for transfer in running { cancel(transfer) }
        freeHandles.removeAll()
        freeLargeHandles.removeAll()
        context.remove(self)
        replaceMulti()
    }

    // MARK: Lines in front of origins

    func queue(of url: String) -> OriginQueue {
        if let lastQueue, lastQueue.matches(url) { return lastQueue }
        let origin = OriginQueue.origin(of: url)
        let queue = queues[origin] ?? makeQueue(origin)
        lastQueue = queue
        return queue
    }

    private func makeQueue(_ origin: String) -> OriginQueue {
        if queues.count >= Self.queueLimit { queues = queues.filter { !$0.value.isEmpty } }
        // In clear text HTTP/2 needs prior knowledge, and there libcurl 7.88 cannot use a connection twice.
        let multiplexes = origin.hasPrefix("https:") && settings.options.httpVersion != .http1Only
        let queue = OriginQueue(
            origin: origin, connectionLimit: settings.maximumConnectionsPerHost, multiplexes: multiplexes,
            addresses: OriginAddresses(origin: origin, options: settings.options))
        queues[origin] = queue
        return queue
    }

    /// Lets the next ones run where one has ended.
    func leave(_ queue: OriginQueue) {
        queue.leave()
        // A launch that fails comes back here; the loop below goes on for it.
        guard !isAdmitting, !isShutDown else { return }
        isAdmitting = true
        while let next = queue.next() {
            next.report.waited = (wallClockNanoseconds() - next.report.startNanoseconds) / 1000
            launch(next)
        }
        isAdmitting = false
    }

    // MARK: The engine

    /// A free handle, or a new one.
    ///
    /// libcurl remembers which scheme a handle has agreed on, and would send other credentials by it before they are
    /// asked for: a transfer with credentials has a handle of its own.
    func handle(for transfer: Transfer) -> EasyHandle {
        let isLarge = transfer.message.tellsOfLulls
        let free =
            transfer.message.credentials != nil ? nil : isLarge ? freeLargeHandles.popLast() : freeHandles.popLast()
        return free ?? EasyHandle(pool: self, hasLargeBuffer: isLarge)
    }

    func keep(_ handle: EasyHandle) {
        if handle.hasLargeBuffer {
            if freeLargeHandles.count < Self.largeFreeHandleLimit { freeLargeHandles.append(handle) }
        } else if freeHandles.count < Self.freeHandleLimit {
            freeHandles.append(handle)
        }
    }

    /// Takes a transfer out of the list of running ones.
    func forget(_ transfer: Transfer) {
        running[running.count - 1].slot = transfer.slot
        running.swapAt(transfer.slot, running.count - 1)
        running.removeLast()
    }

    // MARK: The multi handle

    /// Closes all idle connections, by a new multi: libcurl has no call for that.
    ///
    /// Nothing may be running.
    func replaceMulti() {
        curl_multi_cleanup(multi)
        context.sockets.forgetAll(of: self)
        engineDeadline = nil
        idleDeadline = nil
        queues.removeAll()
        lastQueue = nil
        watchdog = nil
        multi = Self.makeMulti(settings)
        adopt(multi)
    }

    /// Closes the connections that no transfer uses.
    func closeIdleConnections() {
        guard !isShutDown else { return }
        if running.isEmpty { replaceMulti() } else { closeIdle(among: sockets.allOpen()) }
    }

    private static func makeMulti(_ settings: PoolSettings) -> UnsafeMutableRawPointer {
        guard let multi = curl_multi_init() else { preconditionFailure("out of memory") }
        checkedMulti(
            fw_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, max(0, settings.maximumConnectionsPerHost)))
        return multi
    }

    private static func makeShare() -> UnsafeMutableRawPointer {
        guard let share = curl_share_init() else { preconditionFailure("out of memory") }
        // No lock functions: one thread alone comes here.
        precondition(fw_share_sessions(share) == CURLSHE_OK, "libcurl refused a setting")
        return share
    }

    func shareSessions(with handle: EasyHandle) {
        handle.set(CURLOPT_SHARE, pointer: share)
    }

    private func adopt(_ multi: UnsafeMutableRawPointer) {
        let owner = Unmanaged.passUnretained(self).toOpaque()
        PoolCallbacks.install(on: multi, owner: owner)
    }

    func checked(_ code: CURLMcode) throws {
        guard code == CURLM_OK else {
            let detail = String(cString: curl_multi_strerror(code))
            throw TransferFailure.exchange(.cannotLoadFromNetwork, detail: detail, engineCode: Int(code.rawValue))
        }
    }

    func wallClockNanoseconds() -> Int64 {
        Int64(fw_clock_nanoseconds(CLOCK_REALTIME))
    }
}

/// Checks a return code that only a fault of ours could make bad.

private func checkedMulti(_ code: CURLMcode) {
    precondition(code == CURLM_OK, "libcurl refused a setting")
}
