// Content of responses, its codings and its limits.

import CCurl

extension EasyHandle {
    /// Takes bytes of the response's content as they came on the connection.
    func noteCodedContent(_ bytes: UnsafeRawBufferPointer) {
        codingEnd?.append(bytes)
    }

    /// Lets libcurl take content codings off, or hand the content over as it comes.
    ///
    /// libcurl fails a response with a coding that it does not know. Browsers hand such content over, and so do we: the
    /// coding may be one that the caller takes off. libcurl 7.88 reads the option for each piece of content, so it may
    /// change at a head.
    func setDecoding(_ isWanted: Bool) {
        guard isWanted != isDecoding else { return }
        isDecoding = isWanted
        set(CURLOPT_HTTP_CONTENT_DECODING, isWanted ? 1 : 0)
    }

    /// Has content looked at whose end is known by its coding alone.
    func watchCodingEnd(of head: ResponseHead, of transfer: Transfer) {
        stopWatchingCodingEnd()
        guard head.marks.contains(.hasContentCoding), !head.marks.contains(.isFramed), head.version != "HTTP/2",
            head.status != 204, head.status != 304, transfer.message.method != "HEAD",
            let coding = head.value(of: "Content-Encoding")
        else { return }
        codingEnd = ContentCodingEnd.end(of: coding)
        // libcurl decodes content itself; its debug callback alone has the bytes as they came.
        if codingEnd != nil { set(CURLOPT_VERBOSE, 1) }
    }

    func stopWatchingCodingEnd() {
        guard codingEnd != nil else { return }
        codingEnd = nil
        set(CURLOPT_VERBOSE, pool.settings.options.wireObserver == nil ? 0 : 1)
    }

    /// Takes content from libcurl.
    func received(content bytes: UnsafeRawBufferPointer) -> ContentAnswer {
        if headReader.isAwaitingHead { return announced(bytes) ? .taken : .abort }
        guard let transfer, let consumer = transfer.consumer, transfer.failure == nil else { return .abort }
        guard transfer.mayReceive else { return .pause }
        pool.touch(transfer)
        letSendingEnd(of: transfer)
        deliverHeldHead(of: transfer)
        if let count = transfer.discardedByteCount {
            transfer.discardedByteCount = count + bytes.count
            return count + bytes.count > ConnectionPool.discardLimit ? .abort : .taken
        }
        // The consumer may have stopped content when it got the head.
        guard transfer.mayReceive else { return .pause }
        let total = transfer.report.responseDecodedByteCount + Int64(bytes.count)
        if let refusal = refusal(ofContent: total) {
            transfer.failure = transfer.failure ?? .refused(refusal)
            return .abort
        }
        // What follows after a pause is refused, and libcurl keeps it.
        _ = transfer.follow(consumer.transferDidReceive(ContentBytes(bytes)))
        transfer.report.responseDecodedByteCount = total
        transfer.beginBurst(in: pool.context)
        return .taken
    }

    enum ContentAnswer {
        case taken, pause, abort
    }

    /// Which limit a content of so many decoded bytes exceeds.
    func refusal(ofContent total: Int64) -> TransferRefusal? {
        contentLimits.refusal(decoded: total, received: downloadedByteCount)
    }

    /// How many bytes of content came, coding still on.
    private var downloadedByteCount: Int64 {
        var received: curl_off_t = 0
        fw_easy_get_offset(easy, CURLINFO_SIZE_DOWNLOAD_T, &received)
        return Int64(received)
    }
}
