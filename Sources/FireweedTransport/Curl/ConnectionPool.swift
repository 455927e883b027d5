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
    private var multi: UnsafeMutableRawPointer
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
    private var isShutDown = false
    /// How often libcurl was let work.
    private var driveCount: UInt64 = 0
    let meter = MovementMeter()
    var framing = FramingWatch()
    var sockets = OriginSockets()
    /// There while connections may speak HTTP/2 in clear text.
    private(set) var watchdog: ReadingWatchdog?
    /// When libcurl wants to be called, if at all.
    var engineDeadline: LoopInstant?
    /// When the next transfer can time out at the earliest.
    private var sweepDeadline: LoopInstant?
    /// When the pool has been idle for so long that its connections are closed.
    private var idleDeadline: LoopInstant?

    /// So many handles are kept for the next transfers; each may hold its receive buffer.
    private static let freeHandleLimit = 256
    /// The same for those that read much at a time.
    private static let largeFreeHandleLimit = 8
    /// After so many nanoseconds in which nothing of a stream of HTTP/2 moved, libcurl is reminded of it.
    private static let reminderDelay: LoopInstant = 250_000_000
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

    /// Goes on with a transfer whose host was looked up.
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

    func pause(_ transfer: Transfer, adding reason: PauseReasons) {
        transfer.pauses.insert(reason)
        applyPauses(of: transfer)
    }

    func unpause(_ transfer: Transfer, removing reason: PauseReasons) {
        guard transfer.pauses.contains(reason) else { return }
        transfer.pauses.remove(reason)
        touch(transfer)
        applyPauses(of: transfer)
    }

    /// Tells libcurl what stands still; ends a transfer that fails by what libcurl had kept of it.
    ///
    /// libcurl hands kept content over in that very call, and does not end the transfer when the content is refused.
    private func applyPauses(of transfer: Transfer) {
        guard let handle = transfer.handle else { return }
        let code = handle.apply(transfer.pauses)
        if code != CURLE_OK { end(transfer, code: code) }
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
        if transfer.sentByteCount == expected {
            transfer.report.requestEnd = (wallClockNanoseconds() - transfer.report.startNanoseconds) / 1000
        }
        transfer.consumer?.transferDidSend(byteCount, total: transfer.sentByteCount, expected: expected)
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

    private func queue(of url: String) -> OriginQueue {
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
    private func leave(_ queue: OriginQueue) {
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

    /// Lets libcurl work on a socket, or on its timers, and reports what ended by that.
    private func drive(_ descriptor: curl_socket_t, _ events: Int32) {
        var stillRunning: Int32 = 0
        driveCount &+= 1
        watchdog?.callBegins()
        curl_multi_socket_action(multi, descriptor, events, &stillRunning)
        if let port = watchdog?.callEnded(), port != 0 { meter.refusedPort = port }
        var waiting: Int32 = 0
        while let message = curl_multi_info_read(multi, &waiting) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            let code = message.pointee.data.result
            guard let transfer = EasyHandle.owner(of: easy)?.transfer else { continue }
            end(transfer, code: code)
        }
    }

    /// Takes a transfer out of the engine whose handshake was given up until there is a verdict about the server.
    ///
    /// No byte of its request has left: given to the engine again, it begins anew.
    private func park(_ handle: EasyHandle) {
        curl_multi_remove_handle(multi, handle.easy)
        handle.isParked = true
    }

    /// Gives a parked transfer to the engine again, or ends it when its server was refused.
    func trustWasDecided(about transfer: Transfer) {
        guard transfer.state == .running, let handle = transfer.handle, handle.isParked else { return }
        handle.isParked = false
        guard transfer.failure == nil else {
            return perform(transfer.state.handle(.end), on: transfer, code: CURLE_OK)
        }
        addAgain(transfer, handle)
    }

    /// Gives a transfer that was taken back to libcurl again.
    private func addAgain(_ transfer: Transfer, _ handle: EasyHandle) {
        touch(transfer)
        do {
            try checked(curl_multi_add_handle(multi, handle.easy))
            if !transfer.pauses.isEmpty { applyPauses(of: transfer) }
        } catch {
            transfer.failure = transfer.failure ?? error as? TransferFailure
            perform(transfer.state.handle(.end), on: transfer, code: CURLE_OK)
        }
    }

    private func end(_ transfer: Transfer, code: CURLcode) {
        if code != CURLE_OK, transfer.failure == nil, let handle = transfer.handle,
            handle.originJudge?.awaitsVerdict == true
        {
            return park(handle)
        }
        perform(transfer.state.handle(.end), on: transfer, code: code)
    }

    private func perform(_ effect: TransferState.Effect, on transfer: Transfer, code: CURLcode) {
        switch effect {
        case .none, .attach: break
        case .report: report(transfer, transfer.failure ?? .cancelled)
        case .detachAndReport:
            let failure = detach(transfer, code: code)
            report(transfer, failure)
        }
    }

    /// A free handle, or a new one.
    ///
    /// libcurl remembers which scheme a handle has agreed on, and would send other credentials by it before they are asked for: a
    /// transfer with credentials has a handle of its own.
    private func handle(for transfer: Transfer) -> EasyHandle {
        let isLarge = transfer.message.tellsOfLulls
        let free =
            transfer.message.credentials != nil ? nil : isLarge ? freeLargeHandles.popLast() : freeHandles.popLast()
        return free ?? EasyHandle(pool: self, hasLargeBuffer: isLarge)
    }

    private func keep(_ handle: EasyHandle) {
        if handle.hasLargeBuffer {
            if freeLargeHandles.count < Self.largeFreeHandleLimit { freeLargeHandles.append(handle) }
        } else if freeHandles.count < Self.freeHandleLimit {
            freeHandles.append(handle)
        }
    }

    /// Whether libcurl has begun to work on the transfer; until then its handle knows the numbers of the handle's
    /// previous transfer.
    func isWithEngine(_ transfer: Transfer) -> Bool {
        transfer.handle != nil && transfer.launchDrive != driveCount
    }

    /// Takes the transfer's handle back and says how the transfer ended.
    private func detach(_ transfer: Transfer, code: CURLcode) -> TransferFailure? {
        forget(transfer)
        guard let handle = transfer.handle else {
            if let lookup = transfer.lookup.take() {
                HostResolver.shared.cancel(lookup.ticket)
                transfer.queue.map(leave)
            }
            return transfer.failure
        }
        let hasBegun = isWithEngine(transfer)
        let failure = handle.conclude(transfer, code: code, hasBegun: hasBegun)
        if hasBegun, failure != nil || framing.hasSilence {
            framing.transferEnded(
                onPort: handle.localPort, lastActivity: transfer.lastActivity, wasCut: failure != nil)
        }
        curl_multi_remove_handle(multi, handle.easy)
        transfer.handle = nil
        handle.release()
        // See `handle(for:)`. And while other streams use the connection, libcurl 7.88 leaves what came for a paused
        // transfer in the handle (`multi_done`): the next transfer would be given it in front of its own content.
        let mayHoldContent = !transfer.pauses.isDisjoint(with: [.suspended, .intakeFull])
        if transfer.message.credentials == nil, !mayHoldContent, !isShutDown { keep(handle) }
        if let queue = transfer.queue {
            if transfer.report.tls != nil, let name = transfer.report.protocolName, queue.learn(protocolName: name) {
                lowerSweepDeadline(to: context.now + Self.reminderDelay)
            }
            leave(queue)
        }
        if running.isEmpty {
            let idle = settings.options.maximumConnectionIdleTime.nanoseconds
            idleDeadline = context.now.addingSaturating(idle)
        }
        return failure
    }

    /// Takes a transfer out of the list of running ones.
    private func forget(_ transfer: Transfer) {
        running[running.count - 1].slot = transfer.slot
        running.swapAt(transfer.slot, running.count - 1)
        running.removeLast()
    }

    private func report(_ transfer: Transfer, _ failure: TransferFailure?) {
        transfer.content = .none
        if failure != nil {
            // libcurl's clock stops when it has worked on a transfer last.
            let now = wallClockNanoseconds()
            if transfer.report.startNanoseconds == 0 { transfer.report.startNanoseconds = now }
            transfer.report.total = max(0, now - transfer.report.startNanoseconds) / 1000
        }
        transfer.outcome = failure
        context.atEndOfTurn(transfer)
    }

    // MARK: Time-outs

    /// The moment at which the transfer times out if nothing happens until then.
    private func deadline(of transfer: Transfer) -> LoopInstant? {
        var deadline = transfer.message.deadlineNanoseconds
        if transfer.message.idleTimeout > 0, !transfer.pauses.contains(.suspended),
            !transfer.pauses.contains(.intakeFull)
        {
            // While the transfer waits for a free connection, only the total time runs; the sweep looks again later.
            let idle = transfer.message.idleTimeout.nanoseconds
            let idleEnd = (transfer.lastActivity ?? context.now).addingSaturating(idle)
            deadline = min(deadline ?? idleEnd, idleEnd)
        }
        return earlier(deadline, lookupDeadline(of: transfer))
    }

    /// The moment at which libcurl is to be reminded of the transfer if nothing happens until then.
    ///
    /// libcurl 7.88 keeps content that comes for one stream of HTTP/2 while it reads for another, and now and then it forgets to hand
    /// it on: the last bytes of a response would never come.
    private func reminder(of transfer: Transfer) -> LoopInstant? {
        guard transfer.queue?.isMultiplexed == true, transfer.pauses.isEmpty, transfer.handle != nil,
            let lastActivity = transfer.lastActivity, transfer.remindedActivity != lastActivity
        else { return nil }
        return lastActivity &+ Self.reminderDelay
    }

    private func nextLook(at transfer: Transfer) -> LoopInstant? {
        earlier(deadline(of: transfer), reminder(of: transfer))
    }

    private func lowerSweepDeadline(to deadline: LoopInstant?) {
        guard let deadline else { return }
        sweepDeadline = min(sweepDeadline ?? deadline, deadline)
    }

    /// Ends what has timed out, reminds libcurl of what stands still, and finds the next moment to look.
    private func sweep() {
        sweepDeadline = nil
        var suspects: [OriginQueue] = []
        for transfer in running where transfer.state == .running {
            if let reminder = reminder(of: transfer), reminder <= context.now { remind(transfer) }
            if let deadline = deadline(of: transfer), deadline <= context.now {
                let detail = "no byte moved within the time-out, or the time for the whole exchange is over"
                transfer.failure =
                    transfer.failure
                    ?? .exchange(.timedOut, detail: detail, engineCode: Int(CURLE_OPERATION_TIMEDOUT.rawValue))
                if let queue = transfer.queue, !suspects.contains(where: { $0 === queue }), suspectsPeer(of: transfer) {
                    queue.renewConnections()
                    suspects.append(queue)
                }
                end(transfer, code: CURLE_OPERATION_TIMEDOUT)
            } else {
                lowerSweepDeadline(to: nextLook(at: transfer))
            }
        }
        for queue in suspects { closeIdleConnections(of: queue) }
        // Many different deadlines must not make many sweeps.
        sweepDeadline = sweepDeadline.map { max($0, context.now + 2_000_000) }
    }

    private func remind(_ transfer: Transfer) {
        transfer.remindedActivity = transfer.lastActivity
        guard let handle = transfer.handle else { return }
        if handle.isStuck { return move(transfer, handle) }
        let code = handle.remind()
        if code != CURLE_OK { end(transfer, code: code) }
    }

    /// Gives a transfer whose request could not leave another connection, once.
    private func move(_ transfer: Transfer, _ handle: EasyHandle) {
        guard let queue = transfer.queue else { return }
        queue.renewConnections()
        curl_multi_remove_handle(multi, handle.easy)
        defer { closeIdleConnections(of: queue) }
        guard !transfer.hasMoved, handle.beginAnew(transfer) else {
            transfer.failure = transfer.failure ?? .noStreams
            return end(transfer, code: CURLE_OK)
        }
        transfer.hasMoved = true
        transfer.launchDrive = driveCount
        addAgain(transfer, handle)
    }

    /// Looks at a stream that is about to begin when nothing has come of it for a while.
    func streamBegins(of transfer: Transfer) {
        lowerSweepDeadline(to: context.now + Self.reminderDelay)
    }

    // MARK: The multi handle

    /// Closes all idle connections, by a new multi: libcurl has no call for that.
    ///
    /// Nothing may be running.
    private func replaceMulti() {
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

    private func checked(_ code: CURLMcode) throws {
        guard code == CURLM_OK else {
            let detail = String(cString: curl_multi_strerror(code))
            throw TransferFailure.exchange(.cannotLoadFromNetwork, detail: detail, engineCode: Int(code.rawValue))
        }
    }

    private func wallClockNanoseconds() -> Int64 {
        Int64(fw_clock_nanoseconds(CLOCK_REALTIME))
    }
}

extension ConnectionPool: SocketWatcher {
    func socket(_ descriptor: Int32, isReady readiness: SocketReadiness) {
        var events: Int32 = 0
        if readiness.contains(.readable) { events |= CURL_CSELECT_IN }
        if readiness.contains(.writable) { events |= CURL_CSELECT_OUT }
        if !readiness.isDisjoint(with: .failed) { events |= CURL_CSELECT_ERR }
        let movements = meter.count
        drive(descriptor, events)
        if meter.count != movements {
            framing.moved(descriptor)
        } else if readiness.contains(.readable) {
            let silence = framing.stoodStill(descriptor, at: context.now)
            if silence.byteCount > settings.options.maximumFramingByteCount { judge(silence, on: descriptor) }
        }
    }

    /// Ends the transfers of a connection on which too much came that is nothing.
    private func judge(_ silence: FramingWatch.Silence, on descriptor: Int32) {
        let port = LocalPort.of(descriptor)
        let affected = transfers(onPort: port)
        // Of several streams over HTTP/2, libcurl hands some content on in turns that are no socket's.
        let lastMovement = affected.reduce(framing.lastEnding(onPort: port)) { max($0, $1.lastActivity ?? 0) }
        guard lastMovement < silence.start, !framing.isExcused(descriptor) else { return framing.moved(descriptor) }
        guard let held = heldByteCount(onPort: port),
            silence.byteCount > settings.options.maximumFramingByteCount + held
        else { return }
        for transfer in affected {
            let refusal = TransferRefusal.framingBytes(limit: settings.options.maximumFramingByteCount)
            transfer.failure = transfer.failure ?? .refused(refusal)
            end(transfer, code: CURLE_OK)
        }
        framing.forget(descriptor)  // what it goes on to send is excused by nothing
        // Nobody's, or still shaking hands: libcurl then finds it closed.
        if affected.isEmpty { shutdown(descriptor, Shutdown.both) }
    }
}

extension ConnectionPool: FramingRules {
    func heldByteCount(onPort port: Int) -> Int? {
        let transfers = transfers(onPort: port)
        // Over HTTP/2, what comes for a paused transfer is kept, and for the others as much as their buffers hold.
        guard transfers.allSatisfy(\.pauses.isEmpty) else { return nil }
        return transfers.reduce(0) { $0 + ($1.handle?.bufferByteCount ?? 0) }
    }

    /// Those that the connection with this local port serves.
    private func transfers(onPort port: Int) -> [Transfer] {
        running.filter { port > 0 && isWithEngine($0) && $0.handle?.localPort == port }
    }

    func isExcused(_ descriptor: Int32) -> Bool {
        framing.isExcused(descriptor)
    }
}

extension ConnectionPool: LoopTimer {
    var deadline: LoopInstant? {
        earlier(earlier(engineDeadline, sweepDeadline), idleDeadline)
    }

    private func earlier(_ left: LoopInstant?, _ right: LoopInstant?) -> LoopInstant? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }

    func deadlineReached() {
        if let due = engineDeadline, due <= context.now {
            engineDeadline = nil
            drive(fw_socket_timeout, 0)
        }
        if let due = sweepDeadline, due <= context.now { sweep() }
        if let due = idleDeadline, due <= context.now { replaceMulti() }
    }
}

extension Duration {
    /// Whole nanoseconds; zero for a negative duration, the largest number for one that does not fit.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0 else { return 0 }
        let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? .max : product.addingSaturating(UInt64(attoseconds / 1_000_000_000))
    }
}

extension Double {
    /// Whole nanoseconds in so many seconds, at most those of 31 years; zero for a negative number and for none.
    var nanoseconds: UInt64 {
        self > 0 ? UInt64(Swift.min(self, 1e9) * 1e9) : 0
    }
}

extension UInt64 {
    /// The sum, or the largest number where it does not fit.
    func addingSaturating(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

/// Checks a return code that only a fault of ours could make bad.
private func checkedMulti(_ code: CURLMcode) {
    precondition(code == CURLM_OK, "libcurl refused a setting")
}
