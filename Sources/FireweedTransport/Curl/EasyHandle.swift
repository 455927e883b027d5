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
    /// Settled once and for all: libcurl keeps the buffer of a transfer that has ended while other streams go on over
    /// its connection.
    let hasLargeBuffer: Bool
    private(set) var transfer: Transfer?
    let headReader = HeadReader()
    /// True when libcurl takes content codings off, as it does unless told otherwise.
    var isDecoding = true
    var sendings = SendingGuard()
    /// Looks for the end of coded content that ends with the connection; `nil` for all other content.
    var codingEnd: ContentCodingEnd?
    /// The limits on content, apart from the options: they are asked for every piece.
    lazy var contentLimits = ContentLimits(pool.settings.options)
    /// True when the head is all that the response has, though libcurl does not know it.
    var endsWithHead = false
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
    var refusedAddress: IPAddress?
    /// Where libcurl connects to instead of URLs' hosts, for as long as the handle lives.
    private let routes: UnsafeMutablePointer<curl_slist>?
    let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    // What the handle was told last, so that it is not told again.
    var list: UnsafeMutablePointer<curl_slist>?
    var proxyList: UnsafeMutablePointer<curl_slist>?
    var addresses: UnsafeMutablePointer<curl_slist>?
    var listedFields: FieldBlock?
    var listedForContent = false
    var listedByteCount = 0
    var isPlainGet = true
    var url = ""
    var isSecure = false
    var generation = 0
    /// The socket of the connection that was looked for last; -1 for none.
    var knownSocket: Int32 = -1
    /// The addresses that libcurl was told through this handle last.
    var toldAddresses: (of: OriginAddresses, version: Int)?
    var hasShortConnectTimeout = false
    /// The URL in its parts: libcurl would take it apart, and put it together again, for every transfer.
    let parts: OpaquePointer
    /// The connection of the last transfer: the next one mostly has the same.
    var connection: ConnectionDetails?
    /// What was agreed on for the present transfer's connection, read while the transfer has it.
    var tls: TransferReport.TLS?

    /// NTLM needs two, Digest with a stale nonce three.
    private static let maximumAuthenticationRounds = 6

    init(pool: ConnectionPool, hasLargeBuffer: Bool) {
        guard let easy = curl_easy_init(), let parts = curl_url() else { preconditionFailure("out of memory") }
        self.easy = easy
        self.parts = parts
        self.pool = pool
        self.hasLargeBuffer = hasLargeBuffer
        routes = AddressList.makeRoutes(options: pool.settings.options)
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
        curl_slist_free_all(routes)
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
        if !pauses.contains(.suspended), let transfer {
            deliverHeldInterimHeads(of: transfer)
            if let head = transfer.heldHead, !mayContinue(after: head), !transfer.pauses.contains(.suspended) {
                deliverHeldHead(of: transfer)
            }
        }
        let mask = pauses.curlMask
        return setPause(headReader.isAwaitingHead ? mask & ~CURLPAUSE_RECV : mask)
    }

    /// Lets libcurl look whether it has kept something of the transfer.
    func remind() -> CURLcode {
        let code = setPause(CURLPAUSE_RECV)
        return code == CURLE_OK ? setPause(CURLPAUSE_CONT) : code
    }

    /// Has libcurl free what it kept of a paused transfer that has ended; the handle is of no use afterwards.
    ///
    /// libcurl 7.88 frees kept content when the last transfer of a connection ends, and not with the handle. The
    /// content of a stream that ends before other streams of its connection would stay on the heap. A transfer of a
    /// `file` URL is the last one of its connection. It moves no bytes, since it only connects; as an upload it
    /// connects even when libcurl cannot open the file.
    func freeKeptContent() {
        curl_easy_reset(easy)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_URL, "file:///")
        set(CURLOPT_UPLOAD, 1)
        set(CURLOPT_CONNECT_ONLY, 1)
        curl_easy_perform(easy)
    }

    private func setPause(_ mask: Int32) -> CURLcode {
        let code = curl_easy_pause(easy, mask)
        // A transfer without a connection has nothing that could stand still.
        return code == CURLE_BAD_FUNCTION_ARGUMENT ? CURLE_OK : code
    }

    // MARK: Options

    private func applyPoolSettings() {
        TransferCallbacks.install(on: self)
        set(CURLOPT_ERRORBUFFER, pointer: errorText)
        set(CURLOPT_NOSIGNAL, 1)
        // A cancel must not wait for a name server: 7.87 can leave the resolver's thread to itself.
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        set(CURLOPT_PATH_AS_IS, 1)
        // Redirects are not followed here: this bounds the rounds of authentication, which a server could prolong for
        // ever.
        set(CURLOPT_MAXREDIRS, Self.maximumAuthenticationRounds)
        set(CURLOPT_ACCEPT_ENCODING, "")  // decode whatever this libcurl can
        set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        set(CURLOPT_HEADER, 1)  // see `announced`
        pool.shareSessions(with: self)
        headReader.limits = HeadReader.Limits(pool.settings.options)
        if routes != nil { check(fw_easy_set_list(easy, CURLOPT_CONNECT_TO, routes)) }
        do { try pool.settings.options.apply(to: self) } catch { optionFailure = error }
    }
}
