// When a request leaves, and whether it may leave again.

import CCurl
import Foundation

extension EasyHandle {
    /// The request goes out, for the first time or again: to answer a challenge, or without an expectation that was not
    /// met.
    ///
    /// False when it must not go out again.
    func requestStarts() -> Bool {
        guard mayStart() else { return false }
        touch()
        headReader.expectHead()
        sendings.sendingBegins(sentByteCount: sentRequestByteCount)
        if let transfer, !transfer.pauses.isEmpty { apply(transfer.pauses) }
        noteStreamStart()
        return true
    }

    /// Notes what was written until now, where that tells later whether the request has left.
    private func noteStreamStart() {
        guard let transfer, let queue = transfer.queue, queue.isMultiplexed else { return }
        transfer.writtenMark = queue.runningCount == 1 ? writtenByteCount(of: transfer) : nil
        pool.streamBegins(of: transfer)
    }

    /// Whether the request of the transfer has not been written, though the request was about to leave.
    ///
    /// libcurl 7.88 uses an idle connection again whose peer allows no streams (RFC 9113 §5.1.2), and the request waits
    /// there.
    var isStuck: Bool {
        guard let transfer, let mark = transfer.writtenMark, let now = writtenByteCount(of: transfer) else {
            return false
        }
        return (0...Self.windowUpdateByteCount).contains(now - mark)
    }

    /// What libcurl writes at most for a stream that may not begin: a `WINDOW_UPDATE` in a record of TLS 1.3 (RFC 9113
    /// §6.9, RFC 8446 §5.2).
    ///
    /// The shortest `HEADERS` of a request is longer, since each request has a field more than the four that it must
    /// have.
    private static let windowUpdateByteCount: Int64 = 13 + 22

    /// What was written on the transfer's connection in all; `nil` where nobody knows.
    private func writtenByteCount(of transfer: Transfer) -> Int64? {
        // libcurl does not name the socket of a transfer that runs.
        let port = localPort
        guard port > 0, let origin = transfer.queue?.origin else { return nil }
        if knownSocket < 0 || LocalPort.of(knownSocket) != port {
            let sockets = pool.sockets.open(of: origin)
            knownSocket = sockets.first { LocalPort.of($0.descriptor) == port }?.descriptor ?? -1
        }
        return knownSocket < 0 ? nil : FramingWatch.writtenByteCount(of: knownSocket)
    }

    /// Prepares a transfer of which nothing has left for another connection; false when its content cannot be read
    /// again.
    func beginAnew(_ transfer: Transfer) -> Bool {
        transfer.writtenMark = nil
        sendings = SendingGuard()  // nothing was written of the first sending
        setGeneration(transfer.queue?.generation ?? 0)
        guard transfer.sentByteCount > 0 else { return true }
        transfer.sentByteCount = 0
        return rewindContent(of: transfer, to: 0)
    }

    /// Whether the request may be sent now; false ends the transfer.
    func mayStart() -> Bool {
        guard let transfer else { return false }
        let method = transfer.message.method
        if sendings.allowsSending(method, sentByteCount: sentRequestByteCount) { return true }
        let detail = "the connection closed before an answer came, and \(method) requests are not sent again"
        transfer.failure = transfer.failure ?? .exchange(.networkConnectionLost, detail: detail, engineCode: 0)
        return false
    }

    /// Bytes that all sendings of the transfer's request have taken so far, without content that is read as it is sent.
    private var sentRequestByteCount: Int {
        var count = 0
        fw_easy_get_long(easy, CURLINFO_REQUEST_SIZE, &count)
        return count
    }

    /// Lets libcurl see that a response is whole, while the reader of the request's content has nothing ready.
    ///
    /// libcurl 7.88 stops sending when an answer came that ends the exchange early, but does not end a transfer whose
    /// sending is paused at that moment. Where sending goes on, the reader is asked again.
    func letSendingEnd(of transfer: Transfer) {
        guard transfer.pauses.contains(.contentStarved) else { return }
        transfer.pauses.remove(.contentStarved)
        apply(transfer.pauses)
    }

    /// Notes that content went out with the head, also where no answer came.
    func noteInlineContent(of transfer: Transfer, requestByteCount: Int) {
        guard requestByteCount > 0, case .data(let data) = transfer.message.body, !data.isEmpty,
            case .none = transfer.content
        else { return }
        transfer.requestContent = .whole
    }

    /// Content that went out with the head is reported once, when it has been answered: libcurl says nothing of it.
    func reportInlineContent(of transfer: Transfer) {
        guard transfer.sentByteCount == 0, case .data(let data) = transfer.message.body, !data.isEmpty,
            case .none = transfer.content
        else { return }
        transfer.sentByteCount = Int64(data.count)
        transfer.requestContent = .whole
        transfer.consumer?.transferDidSend(data.count, total: Int64(data.count), expected: Int64(data.count))
    }
}
