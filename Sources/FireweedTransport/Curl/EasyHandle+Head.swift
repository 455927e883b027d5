// Heads of responses, line by line.

import CCurl
import Foundation

extension EasyHandle {
    /// Takes a line of a head, or a piece of one, which libcurl has not looked into yet; false ends the transfer.
    ///
    /// libcurl 7.88 appends a first line that is folded to the last field of the handle's *previous* response, whose
    /// memory is free by then. It hands lines over as content before it does so (`CURLOPT_HEADER`), and only this keeps
    /// it from that.
    func announced(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard let transfer else { return false }
        if headReader.announce(piece) { return true }
        let detail = "the response has white space before its first header field"
        transfer.failure = transfer.failure ?? .exchange(.badServerResponse, detail: detail, engineCode: 0)
        return false
    }

    /// Takes header lines from libcurl; false ends the transfer.
    func received(_ lines: UnsafeRawBufferPointer) -> Bool {
        guard let transfer, transfer.failure == nil else { return false }
        pool.touch(transfer)
        // Before the head is delivered: whoever is told of the response can then see it as it came.
        if let observer = pool.settings.options.wireObserver { observer.didReceive(headLines: Array(lines)) }
        return headReader.append(lines) { take($0, for: transfer) }
    }

    private func take(_ event: HeadReader.Event, for transfer: Transfer) -> Bool {
        switch event {
        case .none: return true
        case .informational(let head):
            transfer.heldInterimHeads.append(head)
            if !transfer.pauses.contains(.suspended) { deliverHeldInterimHeads(of: transfer) }
            return transfer.failure == nil
        case .head(let head):
            sendings.answered()
            guard let detail = violation(in: head, of: transfer) else {
                setDecoding(head.marks.contains(.hasContentCoding) ? ContentCodings.areKnown(of: head) : true)
                hold(head, of: transfer)
                endsWithHead = isWhole(head, of: transfer)
                // A suspended transfer ends when it runs again (`ConnectionPool.applyPauses`).
                return !endsWithHead || transfer.pauses.contains(.suspended)
            }
            transfer.failure = transfer.failure ?? .exchange(.badServerResponse, detail: detail, engineCode: 0)
        case .malformed:
            let detail = "the response does not begin with a status line"
            transfer.failure = transfer.failure ?? .exchange(.badServerResponse, detail: detail, engineCode: 0)
        case .exceeded(let refusal): transfer.failure = transfer.failure ?? .refused(refusal)
        }
        return false
    }

    /// What libcurl lets pass and nobody should.
    private func violation(in head: ResponseHead, of transfer: Transfer) -> String? {
        if head.marks.contains(.hasUnsoundLength) {
            return "the response announces lengths that are none, or that differ"
        }
        // RFC 9110 §15.2.2: only a protocol that was asked for can be switched to.
        let isUnasked = head.status == 101 && !transfer.message.fields.contains("Upgrade")
        return isUnasked ? "the server switched protocols unasked" : nil
    }

    /// Whether nothing follows the head of a response to HEAD that was sent with content.
    ///
    /// libcurl 7.88 sends no content with `CURLOPT_NOBODY`, and waits for the content of the response without it. A
    /// challenge without content is left to libcurl, which may answer it.
    func isWhole(_ head: ResponseHead, of transfer: Transfer) -> Bool {
        guard !isPlainGet, transfer.message.method == "HEAD" else { return false }
        if case .none = transfer.message.body { return false }
        return !mayContinue(after: head) || head.contentLength != 0
    }

    private func hold(_ head: ResponseHead, of transfer: Transfer) {
        if isSecure, tls == nil { tls = knownTLS() }
        if !transfer.pauses.contains(.suspended) { reportInlineContent(of: transfer) }
        // A head that was held back and is followed by another was a challenge, which the engine has answered.
        if let answered = transfer.heldHead { transfer.consumer?.transferDidAnswerChallenge(answered) }
        transfer.heldHead = head
        watchCodingEnd(of: head, of: transfer)
        letSendingEnd(of: transfer)
        if !transfer.pauses.isEmpty { apply(transfer.pauses) }
        if !mayContinue(after: head), !transfer.pauses.contains(.suspended) { deliverHeldHead(of: transfer) }
    }

    /// Whether the engine may answer a challenge itself, and go on: only the content or the end will tell.
    func mayContinue(after head: ResponseHead) -> Bool {
        transfer?.message.credentials != nil && head.status == 401 || head.status == 407
    }

    func deliverHeldInterimHeads(of transfer: Transfer) {
        guard !transfer.heldInterimHeads.isEmpty else { return }
        let heads = transfer.heldInterimHeads
        transfer.heldInterimHeads = []
        for head in heads where transfer.failure == nil { transfer.consumer?.transferDidReceiveInterim(head) }
    }

    func deliverHeldHead(of transfer: Transfer) {
        guard let head = transfer.heldHead, !transfer.hasDeliveredHead else { return }
        deliverHeldInterimHeads(of: transfer)
        reportInlineContent(of: transfer)
        transfer.hasDeliveredHead = true
        transfer.heldHead = nil
        if let flow = transfer.consumer?.transferDidReceive(head) { _ = transfer.follow(flow) }
    }
}
