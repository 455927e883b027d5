// A libcurl easy handle that goes from transfer to transfer.

import CCurl
import Foundation
import Glibc

/// Owns an easy handle.
///
/// What all transfers of a pool have in common is set once; `prepare` sets what differs.
final class EasyHandle: CurlHandle {
    let easy: UnsafeMutableRawPointer
    // SAFETY: the pool owns its handles, and cleans them up before it goes; read for every header line.
    unowned(unsafe) let pool: ConnectionPool
    /// Whether it reads much at a time, for transfers whose content is gathered.
    ///
    /// Settled once and for all: libcurl keeps the buffer of a transfer that has ended while other streams go on over its connection.
    let hasLargeBuffer: Bool
    private(set) var transfer: Transfer?
    private let headReader = HeadReader()
    /// True when libcurl takes content codings off, as it does unless told otherwise.
    private var isDecoding = true
    private var sendings = SendingGuard()
    /// Looks for the end of coded content that ends with the connection; `nil` for all other content.
    private var codingEnd: (any ContentCodingEnd)?
    /// True when the head is all that the response has, though libcurl does not know it.
    private var endsWithHead = false
    /// Why libcurl refused an option of the session.
    private var optionFailure: TransferFailure?
    /// Judges the origin of the connection that was made for this transfer last.
    var originJudge: HandshakeJudge?
    /// Knows how the connection to the origin was ended that was made for this transfer last; `nil` where it was not
    /// made.
    var originAlerts: PeerAlerts?
    /// Whether a TLS connection to a proxy was made for this transfer.
    var hasSecureProxy = false
    /// True while the transfer is out of the engine, since its handshake was given up until there is a verdict about
    /// the server.
    var isParked = false
    /// The sockets that were opened for the transfer.
    var openedSockets: [OpenedSocket] = []
    /// The address that the session's guard refused last.
    private var refusedAddress: IPAddress?
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    // What the handle was told last, so that it is not told again.
    private var list: UnsafeMutablePointer<curl_slist>?
    private var proxyList: UnsafeMutablePointer<curl_slist>?
    private var addresses: UnsafeMutablePointer<curl_slist>?
    private var listedFields: FieldBlock?
    private var listedForContent = false
    private var listedByteCount = 0
    private var isPlainGet = true
    private var url = ""
    private var isSecure = false
    private var generation = 0
    /// The socket of the connection that was looked for last; -1 for none.
    private var knownSocket: Int32 = -1
    /// The addresses that libcurl was told through this handle last.
    private var toldAddresses: (of: OriginAddresses, version: Int)?
    private var hasShortConnectTimeout = false
    /// The URL in its parts: libcurl would take it apart, and put it together again, for every transfer.
    private let parts: OpaquePointer
    /// The connection of the last transfer: the next one mostly has the same.
    private var connection: ConnectionDetails?
    /// What was agreed on for the present transfer's connection, read while the transfer has it.
    private var tls: TransferReport.TLS?

    /// NTLM needs two, Digest with a stale nonce three.
    private static let maximumAuthenticationRounds = 6

    init(pool: ConnectionPool, hasLargeBuffer: Bool) {
        guard let easy = curl_easy_init(), let parts = curl_url() else { preconditionFailure("out of memory") }
        self.easy = easy
        self.parts = parts
        self.pool = pool
        self.hasLargeBuffer = hasLargeBuffer
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        applyPoolSettings()
        if hasLargeBuffer { pool.settings.options.applyReceiveBuffer(isLarge: true, to: self) }
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_url_cleanup(parts)
        curl_slist_free_all(list)
        curl_slist_free_all(proxyList)
        curl_slist_free_all(addresses)
        errorText.deallocate()
    }

    /// The object behind an easy handle that libcurl names.
    static func owner(of easy: UnsafeMutableRawPointer) -> EasyHandle? {
        var owner: UnsafeMutableRawPointer?
        fw_easy_get_pointer(easy, CURLINFO_PRIVATE, &owner)
        return owner.map { Unmanaged<EasyHandle>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: A transfer's time with the handle

    /// Sets everything that this transfer needs; throws when libcurl would not take it, and what its content's reader
    /// throws.
    func prepare(for transfer: Transfer) throws {
        self.transfer = transfer
        headReader.reset()
        setDecoding(true)
        sendings = SendingGuard()
        endsWithHead = false
        if let optionFailure { throw optionFailure }
        refusedAddress = nil
        openedSockets.removeAll(keepingCapacity: true)
        errorText[0] = 0
        let message = transfer.message
        tls = nil
        if url != message.url {
            url = ""  // unless libcurl takes it
            try setURL(message.url)
            url = message.url
            if !pool.settings.options.addressOverrides.isEmpty { setAddresses() }
        }
        try setMethodAndContent(of: transfer)
        setFields(message.fields, hasContent: !isPlainGet)
        if pool.settings.options.httpVersion == .http2 {
            // libcurl 7.88 fails the second request of a cleartext HTTP/2 connection (error 16): never reuse one.
            set(CURLOPT_HTTP_VERSION, isSecure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
            set(CURLOPT_FORBID_REUSE, isSecure ? 0 : 1)
        }
        if let credentials = message.credentials { try apply(credentials) }
        try checkLength(of: message)
        if isSecure { setGeneration(transfer.queue?.generation ?? 0) }
        if let known = transfer.queue?.addresses { tell(known) }
        if transfer.report.lookedUp > 0 { setConnectTimeout(less: transfer.report.lookedUp) }
    }

    /// Tells libcurl the addresses of the host, unless it knows them.
    private func tell(_ known: OriginAddresses) {
        guard let entry = known.entry, toldAddresses?.of !== known || toldAddresses?.version != known.version else {
            return
        }
        let list = curl_slist_append(nil, entry)
        check(fw_easy_set_list(easy, CURLOPT_RESOLVE, list))
        curl_slist_free_all(addresses)
        addresses = list
        toldAddresses = (known, known.version)
    }

    /// Leaves libcurl as much of the time for making a connection as the look-up of the name has left.
    private func setConnectTimeout(less microseconds: Int64) {
        guard let limit = pool.settings.options.connectTimeout, limit > .zero else { return }
        hasShortConnectTimeout = true
        let rest = pool.settings.options.connectTimeoutMilliseconds - Int(microseconds / 1000)
        set(CURLOPT_CONNECTTIMEOUT_MS, max(1, rest))
    }

    /// Lets the transfer use none but the connections of this generation.
    private func setGeneration(_ generation: Int) {
        guard generation != self.generation else { return }
        self.generation = generation
        // libcurl uses a connection again only for the same options. These mean something to Schannel alone.
        let bits = [Int(CURLSSLOPT_NO_REVOKE), Int(CURLSSLOPT_REVOKE_BEST_EFFORT), Int(CURLSSLOPT_AUTO_CLIENT_CERT)]
        let options = bits.enumerated().reduce(0) { generation >> $1.offset & 1 == 1 ? $0 | $1.element : $0 }
        set(CURLOPT_SSL_OPTIONS, options)
    }

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
        deliverHeldHead(of: transfer)
        if let failure = transfer.failure { return failure }
        if endsWithHead { return nil }
        if code == CURLE_OK, let missing = missingEnd { return missing }
        if pool.meter.refusedPort != 0, pool.meter.refusedPort == localPort, code != CURLE_OK {
            return .refused(.framingBytes(limit: pool.settings.options.maximumFramingByteCount))
        }
        // libcurl decodes what it has at once, and keeps up to 64 MiB of it for a paused transfer: more is its "out of memory".
        if code == CURLE_OUT_OF_MEMORY, transfer.pauses.contains(.intakeFull),
            let limit = pool.settings.options.maximumExpansionRatio
        {
            return .refused(.expansion(limit: limit))
        }
        if let refusedAddress, code == CURLE_COULDNT_CONNECT { return .refused(.address(refusedAddress)) }
        // Too many "redirects" are rounds of authentication that lead nowhere: the challenge is the response, and has been delivered.
        guard code != CURLE_OK, code != CURLE_TOO_MANY_REDIRECTS || !transfer.hasDeliveredHead else { return nil }
        // An answer that came whole before the peer stopped reading our content is an answer (RFC 9112 §9.5).
        let failure = CurlFailure(
            code: code, text: String(cString: errorText), verifyResult: counts.verify_result,
            osError: counts.os_error, alert: fatalAlert(after: code), hadStarted: counts.pre_transfer > 0)
        return failure.transferFailure
    }

    /// The alert with which the origin ended the connection that was made for this transfer.
    private func fatalAlert(after code: CURLcode) -> TLSAlert? {
        let connected = openedSockets.filter(\.isOpen)
        if [CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2].contains(code), connected.count == 1 {
            originAlerts?.readRest(from: connected[0])
        }
        return originAlerts?.fatal
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

    /// Ends the transfer's time with this handle, which has left the multi handle.
    func release() {
        stopWatchingCodingEnd()
        if let credentials = transfer?.message.credentials { forget(credentials) }
        if hasShortConnectTimeout {
            hasShortConnectTimeout = false
            set(CURLOPT_CONNECTTIMEOUT_MS, pool.settings.options.connectTimeoutMilliseconds)
        }
        if !isPlainGet { set(CURLOPT_POSTFIELDS, nil) }  // frees libcurl's copy of the content
        transfer = nil
        originJudge = nil
        originAlerts = nil
        hasSecureProxy = false
        isParked = false
    }

    /// Whether the session's guard lets a connection be opened; libcurl tries the host's next address when it does not.
    func allowsConnection(to target: UnsafeMutablePointer<curl_sockaddr>) -> Bool {
        guard !pool.settings.options.addressGuard.refused.isEmpty else { return true }
        let address = withUnsafePointer(to: &target.pointee.addr) { IPAddress($0) }
        guard let address, !pool.settings.options.addressGuard.allows(address) else { return true }
        refusedAddress = address
        return false
    }

    /// Notes that something happens for this transfer.
    func touch() {
        transfer.map(pool.touch)
    }

    /// The local port of the transfer's connection; 0 while there is none.
    var localPort: Int {
        var port = 0
        fw_easy_get_long(easy, CURLINFO_LOCAL_PORT, &port)
        return port
    }

    /// How much is read at once.
    var bufferByteCount: Int { pool.settings.options.bufferByteCount(isLarge: hasLargeBuffer) }

    /// Stops bytes, or lets them move, as the transfer's reasons ask for; gives the code of what libcurl handed over in
    /// this call, if that failed.
    ///
    /// Up to the end of the head bytes come in all the same: libcurl gathers what comes while it is paused in three
    /// pieces at most, and fails when interim responses or trailers would be a fourth one. The head waits here then.
    @discardableResult
    func apply(_ pauses: PauseReasons) -> CURLcode {
        if !pauses.contains(.suspended), let transfer, let head = transfer.heldHead, !mayContinue(after: head) {
            deliverHeldHead(of: transfer)
        }
        let mask = pauses.curlMask
        return setPause(headReader.isAwaitingHead ? mask & ~CURLPAUSE_RECV : mask)
    }

    /// Lets libcurl look whether it has kept something of the transfer.
    func remind() -> CURLcode {
        let code = setPause(CURLPAUSE_RECV)
        return code == CURLE_OK ? setPause(CURLPAUSE_CONT) : code
    }

    private func setPause(_ mask: Int32) -> CURLcode {
        let code = curl_easy_pause(easy, mask)
        // A transfer without a connection has nothing that could stand still.
        return code == CURLE_BAD_FUNCTION_ARGUMENT ? CURLE_OK : code
    }

    // MARK: Heads

    /// The request goes out, for the first time or again: to answer a challenge, or without an expectation that was not met.
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

    /// Takes bytes of the response's content as they came on the connection.
    func noteCodedContent(_ bytes: UnsafeRawBufferPointer) {
        codingEnd?.append(bytes)
    }

    /// Takes a line of a head, or a piece of one, which libcurl has not looked into yet; false ends the transfer.
    ///
    /// libcurl 7.88 appends a first line that is folded to the last field of the handle's *previous* response, whose memory is
    /// free by then. It hands lines over as content before it does so (`CURLOPT_HEADER`), and only this keeps it from that.
    private func announced(_ piece: UnsafeRawBufferPointer) -> Bool {
        guard let transfer else { return false }
        if headReader.announce(piece) { return true }
        let detail = "the response has white space before its first header field"
        transfer.failure = transfer.failure ?? .exchange(.badServerResponse, detail: detail, engineCode: 0)
        return false
    }

    /// Takes header lines from libcurl; false ends the transfer.
    func received(_ lines: UnsafeRawBufferPointer) -> Bool {
        guard let transfer else { return false }
        pool.touch(transfer)
        return headReader.append(lines) { take($0, for: transfer) }
    }

    private func take(_ event: HeadReader.Event, for transfer: Transfer) -> Bool {
        switch event {
        case .none: return true
        case .informational(let head):
            transfer.consumer?.transferDidReceiveInterim(head)
            return true
        case .head(let head):
            sendings.answered()
            guard let detail = violation(in: head, of: transfer) else {
                setDecoding(head.marks.contains(.hasContentCoding) ? ContentCodings.areKnown(of: head) : true)
                hold(head, of: transfer)
                endsWithHead = isWhole(head, of: transfer)
                return !endsWithHead
            }
            transfer.failure = transfer.failure ?? .exchange(.badServerResponse, detail: detail, engineCode: 0)
        case .malformed:
            let detail = "the response does not begin with a status line"
            transfer.failure = transfer.failure ?? .exchange(.badServerResponse, detail: detail, engineCode: 0)
        case .exceeded(let refusal): transfer.failure = transfer.failure ?? .refused(refusal)
        }
        return false
    }

    /// Lets libcurl take content codings off, or hand the content over as it comes.
    ///
    /// libcurl fails a response with a coding that it does not know. Browsers hand such content over, and so do we: the
    /// coding may be one that the caller takes off. libcurl 7.88 reads the option for each piece of content, so it may
    /// change at a head.
    private func setDecoding(_ isWanted: Bool) {
        guard isWanted != isDecoding else { return }
        isDecoding = isWanted
        set(CURLOPT_HTTP_CONTENT_DECODING, isWanted ? 1 : 0)
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
    private func isWhole(_ head: ResponseHead, of transfer: Transfer) -> Bool {
        guard !isPlainGet, transfer.message.method == "HEAD" else { return false }
        if case .none = transfer.message.body { return false }
        return !mayContinue(after: head) || head.contentLength != 0
    }

    private func hold(_ head: ResponseHead, of transfer: Transfer) {
        if isSecure, tls == nil { tls = knownTLS() }
        reportInlineContent(of: transfer)
        // A head that was held back and is followed by another was a challenge, which the engine has answered.
        if let answered = transfer.heldHead { transfer.consumer?.transferDidAnswerChallenge(answered) }
        transfer.heldHead = head
        watchCodingEnd(of: head, of: transfer)
        if !transfer.pauses.isEmpty { apply(transfer.pauses) }
        if !mayContinue(after: head), !transfer.pauses.contains(.suspended) { deliverHeldHead(of: transfer) }
    }

    /// Whether the engine may answer a challenge itself, and go on: only the content or the end will tell.
    private func mayContinue(after head: ResponseHead) -> Bool {
        transfer?.message.credentials != nil && head.status == 401 || head.status == 407
    }

    /// Has content looked at whose end is known by its coding alone.
    private func watchCodingEnd(of head: ResponseHead, of transfer: Transfer) {
        stopWatchingCodingEnd()
        guard head.marks.contains(.hasContentCoding), !head.marks.contains(.isFramed), head.version != "HTTP/2",
            head.status != 204, head.status != 304, transfer.message.method != "HEAD",
            let coding = head.value(of: "Content-Encoding")
        else { return }
        codingEnd = ContentCodingEnds.end(of: coding)
        // libcurl decodes content itself; its debug callback alone has the bytes as they came.
        if codingEnd != nil { set(CURLOPT_VERBOSE, 1) }
    }

    private func stopWatchingCodingEnd() {
        guard codingEnd != nil else { return }
        codingEnd = nil
        set(CURLOPT_VERBOSE, 0)
    }

    /// Content that went out with the head is reported once, when it has been answered: libcurl says nothing of it.
    private func reportInlineContent(of transfer: Transfer) {
        guard transfer.sentByteCount == 0, case .data(let data) = transfer.message.body, !data.isEmpty,
            case .none = transfer.content
        else { return }
        transfer.sentByteCount = Int64(data.count)
        transfer.consumer?.transferDidSend(data.count, total: Int64(data.count), expected: Int64(data.count))
    }

    private func deliverHeldHead(of transfer: Transfer) {
        guard let head = transfer.heldHead, !transfer.hasDeliveredHead else { return }
        transfer.hasDeliveredHead = true
        transfer.heldHead = nil
        transfer.consumer?.transferDidReceive(head)
    }

    /// Takes content from libcurl.
    func received(content bytes: UnsafeRawBufferPointer) -> ContentAnswer {
        if headReader.isAwaitingHead { return announced(bytes) ? .taken : .abort }
        guard let transfer, let consumer = transfer.consumer else { return .abort }
        guard transfer.pauses.isDisjoint(with: [.suspended, .intakeFull]) else { return .pause }
        pool.touch(transfer)
        deliverHeldHead(of: transfer)
        let total = transfer.report.responseDecodedByteCount + Int64(bytes.count)
        if let refusal = refusal(ofContent: total) {
            transfer.failure = transfer.failure ?? .refused(refusal)
            return .abort
        }
        switch consumer.transferDidReceive(bytes) {
        case .taken:
            transfer.report.responseDecodedByteCount = total
            transfer.beginBurst(in: pool.context)
            return .taken
        case .pause:
            transfer.pauses.insert(.intakeFull)
            return .pause
        }
    }

    enum ContentAnswer {
        case taken, pause, abort
    }

    /// Which limit a content of so many decoded bytes exceeds.
    private func refusal(ofContent total: Int64) -> TransferRefusal? {
        // Not by a copy of the options: this is asked for every piece.
        if let limit = pool.settings.options.maximumBodyByteCount, total > limit { return .bodyBytes(limit: limit) }
        // Small contents may expand as they like: they are small.
        guard total > Self.freeExpansion, let ratio = pool.settings.options.maximumExpansionRatio else { return nil }
        var received: curl_off_t = 0
        fw_easy_get_offset(easy, CURLINFO_SIZE_DOWNLOAD_T, &received)
        let (allowed, overflow) = Int64(received).multipliedReportingOverflow(by: Int64(max(ratio, 1)))
        return overflow || total <= max(allowed, Self.freeExpansion) ? nil : .expansion(limit: ratio)
    }

    private static let freeExpansion: Int64 = 16 * 1024 * 1024

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

    private func knownTLS() -> TransferReport.TLS? {
        var port = 0
        fw_easy_get_long(easy, CURLINFO_LOCAL_PORT, &port)
        // The same connection as before: what was agreed on for it stands.
        if let connection, connection.localEndpoint?.port == port, let known = connection.tls { return known }
        return agreedTLS()
    }

    // MARK: Method, content and fields

    private func setMethodAndContent(of transfer: Transfer) throws {
        let message = transfer.message
        let needsLength = message.method == "POST" || message.method == "PUT" || message.method == "PATCH"
        if case .none = message.body, !needsLength {
            if isPlainGet && message.method == "GET" { return }
            set(CURLOPT_NOBODY, 0)
            set(CURLOPT_HTTPGET, 1)
            isPlainGet = false  // until libcurl has taken the method
            if message.method == "HEAD" { set(CURLOPT_NOBODY, 1) }
            let isOrdinary = message.method == "GET" || message.method == "HEAD"
            try setText(CURLOPT_CUSTOMREQUEST, isOrdinary ? nil : message.method)
            isPlainGet = message.method == "GET"
            return
        }
        isPlainGet = false
        set(CURLOPT_NOBODY, 0)
        try setText(CURLOPT_CUSTOMREQUEST, message.method)
        switch message.body {
        case .none: setInline(Data())
        case .data(let data) where data.count <= RequestContent.inlineLimit: setInline(data)
        case .data(let data):
            transfer.content = .data(data, sent: 0)
            setUpload(byteCount: Int64(data.count))
        case .reader(let make):
            let reader = try make()
            transfer.content = .pump(pump(reader, for: transfer))
            setUpload(byteCount: reader.byteCount ?? -1)
        }
    }

    private func pump(_ reader: any BodyReader, for transfer: Transfer) -> BodyPump {
        let pump = BodyPump(reader: reader, loop: pool.context.loop)
        pump.whenReady = { [weak transfer, weak pump, unowned pool] in
            // A pump that another has replaced has no say any more.
            guard let transfer, let pump, case .pump(let current) = transfer.content, current === pump else { return }
            pool.unpause(transfer, removing: .contentStarved)
        }
        return pump
    }

    /// Goes back in the content; false when that is impossible.
    ///
    /// A reader is made anew, so only the start will do.
    func rewindContent(of transfer: Transfer, to offset: Int) -> Bool {
        guard case .pump(let present) = transfer.content, case .reader(let make) = transfer.message.body else {
            return transfer.content.rewind(to: offset)
        }
        do {
            let reader = try make()
            // The length has been announced already.
            guard offset == 0, reader.byteCount == present.byteCount else { return false }
            transfer.content = .pump(pump(reader, for: transfer))
            return true
        } catch {
            transfer.failure = transfer.failure ?? .unreadableBody(error)
            return false
        }
    }

    private func setInline(_ data: Data) {
        set(CURLOPT_UPLOAD, 0)
        set(CURLOPT_POST, 1)
        setOffset(CURLOPT_POSTFIELDSIZE_LARGE, Int64(data.count))
        data.withUnsafeBytes { bytes in
            // A null pointer would make libcurl ask the read callback.
            let start = bytes.baseAddress ?? UnsafeRawPointer(errorText)
            check(fw_easy_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, start))
        }
    }

    private func setUpload(byteCount: Int64) {
        set(CURLOPT_UPLOAD, 1)
        setOffset(CURLOPT_INFILESIZE_LARGE, byteCount)
    }

    /// Tells libcurl the URL and its parts; throws when it has no host, or libcurl cannot take it apart.
    private func setURL(_ url: String) throws(TransferFailure) {
        // What is left of an earlier URL would complete one without an authority.
        curl_url_set(parts, CURLUPART_URL, nil, 0)
        guard RequestMessage.hasAuthority(url) else {
            throw .exchange(.badURL, detail: "the URL has no host", engineCode: Int(CURLE_URL_MALFORMAT.rawValue))
        }
        // As libcurl takes `CURLOPT_URL` apart, and puts it together to send it again.
        let rules = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS)
        var text: UnsafeMutablePointer<CChar>?
        defer { curl_free(text) }
        var code = curl_url_set(parts, CURLUPART_URL, url, rules)
        if code == CURLUE_OK { code = curl_url_get(parts, CURLUPART_URL, &text, 0) }
        guard code == CURLUE_OK, let text else {
            let detail = String(cString: curl_url_strerror(code))
            throw .exchange(.badURL, detail: detail, engineCode: Int(CURLE_URL_MALFORMAT.rawValue))
        }
        try setText(CURLOPT_URL, String(cString: text))
        set(CURLOPT_CURLU, pointer: UnsafeRawPointer(parts))
        let wasSecure = isSecure
        isSecure = url.hasBytePrefix("https:")
        if isSecure != wasSecure { set(CURLOPT_PIPEWAIT, isSecure ? 1 : 0) }
    }

    /// Tells libcurl the addresses that the options have for the host of the URL.
    private func setAddresses() {
        guard let list = AddressList.make(for: url, options: pool.settings.options) else { return }
        toldAddresses = nil
        check(fw_easy_set_list(easy, CURLOPT_RESOLVE, list))
        curl_slist_free_all(addresses)
        addresses = list
    }

    private func setFields(_ block: FieldBlock, hasContent: Bool) {
        guard block !== listedFields || hasContent != listedForContent else { return }
        curl_slist_free_all(list)
        list = FieldList.make(block, hasContent: hasContent)
        listedByteCount = block.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        listedFields = block
        listedForContent = hasContent
        check(fw_easy_set_list(easy, CURLOPT_HTTPHEADER, list))
        let proxyFields = FieldList.makeForProxy(block)
        guard proxyFields != nil || proxyList != nil else { return }
        curl_slist_free_all(proxyList)
        proxyList = proxyFields
        check(fw_easy_set_list(easy, CURLOPT_PROXYHEADER, proxyFields))
    }

    /// Throws when the head would be longer than libcurl makes it: 1 MiB with content that goes out in the same write.
    private func checkLength(of message: RequestMessage) throws(TransferFailure) {
        var byteCount = message.method.utf8.count + message.url.utf8.count + listedByteCount
        if let credentials = message.credentials {
            byteCount += 2 * (credentials.user.utf8.count + credentials.password.utf8.count)
        }
        guard byteCount > Self.maximumHeadByteCount else { return }
        let detail =
            "method, URL and fields have \(byteCount) bytes, and at most \(Self.maximumHeadByteCount) can be sent"
        throw .exchange(.dataLengthExceedsMaximum, detail: detail, engineCode: 0)
    }

    /// libcurl's limit, with room for content and for what libcurl adds.
    private static let maximumHeadByteCount = 1024 * 1024 - RequestContent.inlineLimit - 16 * 1024

    // MARK: Options

    private func setOffset(_ option: CURLoption, _ value: Int64) {
        check(fw_easy_set_offset(easy, option, curl_off_t(value)))
    }

    private func applyPoolSettings() {
        TransferCallbacks.install(on: self)
        set(CURLOPT_ERRORBUFFER, pointer: errorText)
        set(CURLOPT_NOSIGNAL, 1)
        // A cancel must not wait for a name server: 7.87 can leave the resolver's thread to itself.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_PATH_AS_IS, 1)
        // Redirects are not followed here: this bounds the rounds of authentication, which a server could prolong for ever.
        set(CURLOPT_MAXREDIRS, Self.maximumAuthenticationRounds)
        set(CURLOPT_ACCEPT_ENCODING, "")  // decode whatever this libcurl can
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_HEADER, 1)  // see `announced`
        pool.shareSessions(with: self)
        headReader.limits = HeadReader.Limits(pool.settings.options)
        do { try pool.settings.options.apply(to: self) } catch { optionFailure = error }
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
