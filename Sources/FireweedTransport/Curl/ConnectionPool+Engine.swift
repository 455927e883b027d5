// How libcurl is driven, and how transfers leave it.

import CCurl

extension ConnectionPool {
    /// Lets libcurl work on a socket, or on its timers, and reports what ended by that.
    func drive(_ descriptor: curl_socket_t, _ events: Int32) {
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
    func addAgain(_ transfer: Transfer, _ handle: EasyHandle) {
        touch(transfer)
        do {
            try checked(curl_multi_add_handle(multi, handle.easy))
            if !transfer.pauses.isEmpty { applyPauses(of: transfer) }
        } catch {
            transfer.failure = transfer.failure ?? error as? TransferFailure
            perform(transfer.state.handle(.end), on: transfer, code: CURLE_OK)
        }
    }

    func end(_ transfer: Transfer, code: CURLcode) {
        if code != CURLE_OK, transfer.failure == nil, let handle = transfer.handle,
            handle.originJudge?.awaitsVerdict == true
        {
            return park(handle)
        }
        perform(transfer.state.handle(.end), on: transfer, code: code)
    }

    func perform(_ effect: TransferState.Effect, on transfer: Transfer, code: CURLcode) {
        switch effect {
        case .none, .attach: break
        case .report: report(transfer, transfer.failure ?? .cancelled)
        case .detachAndReport:
            let failure = detach(transfer, code: code)
            report(transfer, failure)
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
        // While other streams use the connection, libcurl 7.88 leaves what came for a paused transfer in the handle
        // (`multi_done`): the next transfer would be given it in front of its own content. The conclusion may change
        // the pauses, since it may deliver the head.
        let mayHoldContent = !transfer.mayReceive
        let failure = handle.conclude(transfer, code: code, hasBegun: hasBegun)
        let wasCut = failure != nil || transfer.discardedByteCount != nil
        if hasBegun, wasCut || framing.hasSilence {
            framing.transferEnded(onPort: handle.localPort, lastActivity: transfer.lastActivity, wasCut: wasCut)
        }
        curl_multi_remove_handle(multi, handle.easy)
        transfer.handle = nil
        handle.release()
        if mayHoldContent, transfer.report.protocolName == "h2" { handle.freeKeptContent() }
        // See `handle(for:)`.
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

    func report(_ transfer: Transfer, _ failure: TransferFailure?) {
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
}
