// How a transfer ended, and what it took.

import CCurl
import Foundation
import Glibc

extension EasyHandle {
    /// Gathers what the transfer took, and says why it failed if it did.
    ///
    /// Where libcurl has not begun with the transfer, the handle's numbers are those of an earlier one.
    func conclude(_ transfer: Transfer, code: CURLcode, hasBegun: Bool) -> TransferFailure? {
        var counts = fw_report()
        if hasBegun {
            fw_easy_get_report(easy, &counts)
            let hasResponse = transfer.hasDeliveredHead || transfer.heldHead != nil
            transfer.report.fill(from: counts, hasResponse: hasResponse)
            transfer.report.connection = connectionDetails(from: counts, hasResponse: hasResponse)
        }
        // A transfer that was suspended, and is cancelled or out of time, tells the end alone.
        if transfer.failure == nil || !transfer.pauses.contains(.suspended) { deliverHeldHead(of: transfer) }
        noteInlineContent(of: transfer, requestByteCount: Int(counts.request_bytes))
        transfer.trailers = headReader.trailers
        if let failure = transfer.failure { return failure }
        // Whatever became of a rest that nobody wants.
        if transfer.discardedByteCount != nil { return nil }
        if endsWithHead { return nil }
        if code == CURLE_OK, let missing = missingEnd { return missing }
        if pool.meter.refusedPort != 0, pool.meter.refusedPort == localPort, code != CURLE_OK {
            return .refused(.framingBytes(limit: pool.settings.options.maximumFramingByteCount))
        }
        // libcurl decodes what it has at once, and keeps up to 64 MiB of it for a paused transfer: more is its "out of
        // memory".
        if code == CURLE_OUT_OF_MEMORY, transfer.pauses.contains(.intakeFull),
            let limit = pool.settings.options.maximumExpansionRatio
        {
            return .refused(.expansion(limit: limit))
        }
        // libcurl 7.88 has a limit of its own for a line of a head, and says "out of memory" for it.
        if code == CURLE_OUT_OF_MEMORY, headReader.isAwaitingHead, counts.pre_transfer > 0 {
            return .refused(.headerBytes(limit: 100 * 1024))
        }
        if let refusedAddress, code == CURLE_COULDNT_CONNECT { return .refused(.address(refusedAddress)) }
        // Too many "redirects" are rounds of authentication that lead nowhere: the challenge is the response, and has
        // been delivered.
        guard code != CURLE_OK, code != CURLE_TOO_MANY_REDIRECTS || !transfer.hasDeliveredHead else { return nil }
        // An answer that came whole before the peer stopped reading our content is an answer (RFC 9112 §9.5).
        let failure = CurlFailure(
            code: code, text: String(cString: errorText), verifyResult: counts.verify_result,
            osError: counts.os_error, alert: fatalAlert(of: transfer, after: code), hadStarted: counts.pre_transfer > 0)
        return failure.transferFailure
    }

    /// The alert with which the origin ended the transfer's connection.
    private func fatalAlert(of transfer: Transfer, after code: CURLcode) -> TLSAlert? {
        // A stream that the end of its connection cuts off is a partial file, as one that the server cuts off is.
        let losses = [CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2, CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING]
        guard losses.contains(code) else { return originAlerts?.fatal }
        let connected = openedSockets.filter(\.isOpen)
        if connected.count == 1 { originAlerts?.readRest(from: connected[0]) }
        return originAlerts?.fatal
            ?? transfer.queue.flatMap { pool.alerts.fatalAlert(from: $0.origin, onPort: localPort) }
    }

    /// What is missing of a response that libcurl takes for whole.
    private var missingEnd: TransferFailure? {
        if headReader.isAwaitingHead {
            let detail = "the connection ended before the head of the response was complete"
            return .exchange(.networkConnectionLost, detail: detail, engineCode: 0)
        }
        guard let codingEnd, !codingEnd.isWhole else { return nil }
        let detail = "the connection ended before the content's coding did"
        return .exchange(.networkConnectionLost, detail: detail, engineCode: 0)
    }

    /// The details of the connection that was used, the same object as long as it is the same connection.
    private func connectionDetails(from counts: fw_report, hasResponse: Bool) -> ConnectionDetails? {
        let protocolName = hasResponse ? Self.protocolName(counts.http_version) : nil
        if let connection, connection.describes(counts, protocolName: protocolName),
            tls == nil || connection.tls == tls
        {
            return connection
        }
        let local = Self.endpoint(counts.local_address, counts.local_port)
        let remote = Self.endpoint(counts.remote_address, counts.remote_port)
        guard local != nil || remote != nil || protocolName != nil else { return nil }
        let details = ConnectionDetails(
            protocolName: protocolName, localEndpoint: local, remoteEndpoint: remote, tls: tls)
        connection = details
        return details
    }

    private static func protocolName(_ version: Int) -> String? {
        switch version {
        case CURL_HTTP_VERSION_1_0: "http/1.0"
        case CURL_HTTP_VERSION_1_1: "http/1.1"
        case CURL_HTTP_VERSION_2_0: "h2"
        default: nil
        }
    }

    static func endpoint(_ address: UnsafePointer<CChar>?, _ port: Int) -> (String, Int)? {
        guard let address, address[0] != 0 else { return nil }
        return (String(cString: address), port)
    }

    func knownTLS() -> TransferReport.TLS? {
        var port = 0
        fw_easy_get_long(easy, CURLINFO_LOCAL_PORT, &port)
        // The same connection as before: what was agreed on for it stands.
        if let connection, connection.localEndpoint?.port == port, let known = connection.tls { return known }
        return agreedTLS()
    }
}

extension TransferReport {
    /// Takes over libcurl's counts.
    mutating func fill(from counts: fw_report, hasResponse: Bool) {
        nameLookup = moment(counts.name_lookup)
        connect = moment(counts.connect)
        secureConnect = moment(counts.app_connect)
        requestStart = moment(counts.pre_transfer)
        responseStart = hasResponse ? moment(counts.start_transfer) : 0
        total = moment(counts.total)
        requestHeaderByteCount = Int64(counts.request_bytes)
        requestBodyByteCount = counts.uploaded
        responseHeaderByteCount = Int64(counts.header_bytes)
        responseBodyByteCount = counts.downloaded
        isReusedConnection = counts.connects == 0 && counts.pre_transfer > 0
    }

    /// A moment that libcurl counts from when the transfer left the line; 0 for what did not happen.
    private func moment(_ microseconds: Int64) -> Int64 {
        microseconds > 0 ? microseconds + waited + lookedUp : 0
    }
}

extension ConnectionDetails {
    /// True when libcurl counted for a connection between the same two endpoints, in the same protocol.
    ///
    /// A connection has its pair of endpoints for itself, for as long as it lives.
    fileprivate func describes(_ counts: fw_report, protocolName: String?) -> Bool {
        guard let localEndpoint, let remoteEndpoint, let local = counts.local_address,
            let remote = counts.remote_address
        else { return false }
        return localEndpoint.port == counts.local_port && remoteEndpoint.port == counts.remote_port
            && Self.isSame(localEndpoint.address, local) && Self.isSame(remoteEndpoint.address, remote)
            && self.protocolName == protocolName
    }

    /// Without the array that Swift makes of a string for C.
    private static func isSame(_ text: String, _ other: UnsafePointer<CChar>) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return other[0] == 0 }
            return strncmp(UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self), other, bytes.count) == 0
                && other[bytes.count] == 0
        }
    }
}
