// Connections on which too much comes that moves nothing.

import CCurl
import Glibc

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
