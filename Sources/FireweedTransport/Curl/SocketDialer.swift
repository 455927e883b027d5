// A connection that libcurl makes and we speak on.

import CCurl
import Foundation
import Glibc

/// Makes one connection as the session's options say (name look-up, proxy, `CONNECT`, TLS, trust), then reads and
/// writes on it.
///
/// It has a multi handle of its own: libcurl 7.88 closes connections of this kind when they look idle to another
/// transfer of the same multi handle that begins. Loop-confined. Its owner is never called from inside libcurl, apart
/// from `connectionDidProgress()`.
final class SocketDialer: Timed, CurlHandle, DedicatedConnection {
    let easy: UnsafeMutableRawPointer
    private let multi: UnsafeMutableRawPointer
    let settings: PoolSettings
    private let url: String
    unowned let owner: any DedicatedConnectionOwner
    let context: LoopContext
    private let timers: DeadlineHeap
    /// When libcurl wants to be called, if at all.
    var deadline: LoopInstant? { didSet { timers.set(self, to: deadline) } }
    /// The look-up of the host that is under way.
    var lookup: DialerLookup?
    /// Microseconds that the look-up of the host took; 0 without one.
    var lookedUp: Int64 = 0
    private var descriptor: Int32 = -1
    private(set) var isHungUp = false
    private var addresses: UnsafeMutablePointer<curl_slist>?
    private let routes: UnsafeMutablePointer<curl_slist>?
    private let proxyFields: UnsafeMutablePointer<curl_slist>?
    private var refusal: TransferFailure?
    private var refusedAddress: IPAddress?
    private let keyLog: KeyLog?
    private var originJudge: HandshakeJudge?
    /// Knows how the connection was ended; `nil` inside the TLS of a proxy, where the socket does not carry the
    /// origin's records.
    private var originAlerts: PeerAlerts?
    private var hasSecureProxy = false
    /// True while the handshake was given up and the verdict is still to come.
    private var waitsForVerdict = false
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    /// Makes a dialer for the origin of an `http` or `https` URL; of `fields`, a proxy gets those that are for it.
    init(
        url: String, fields: FieldBlock, settings: PoolSettings, context: LoopContext, timers: DeadlineHeap,
        owner: any DedicatedConnectionOwner
    ) {
        guard let easy = curl_easy_init(), let multi = curl_multi_init() else { preconditionFailure("out of memory") }
        self.easy = easy
        self.multi = multi
        self.url = url
        proxyFields = FieldList.makeForProxy(fields)
        routes = AddressList.makeRoutes(options: settings.options)
        self.settings = settings
        self.context = context
        self.timers = timers
        self.owner = owner
        keyLog = settings.options.keyLogFile.flatMap { KeyLog($0) }
        super.init()
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        hangUp()
        errorText.deallocate()
    }

    /// Closes the connection; nothing else may be asked of the dialer then.
    ///
    /// Never from inside libcurl.
    func hangUp() {
        guard !isHungUp else { return }
        isHungUp = true
        deadline = nil
        lookup.map { HostResolver.shared.cancel($0.ticket) }
        // The order of libcurl's manual; the socket is closed by our callback, which forgets its watch.
        curl_multi_remove_handle(multi, easy)
        curl_easy_cleanup(easy)
        curl_multi_cleanup(multi)
        curl_slist_free_all(addresses)
        curl_slist_free_all(proxyFields)
        curl_slist_free_all(routes)
    }

    /// True when bytes that came may be held above the socket, where no readiness tells of them: TLS does that.
    var mayHoldBytes: Bool { !url.hasPrefix("http:") || settings.options.proxy?.scheme == .https }

    /// Begins to connect.
    func dial() {
        DialerCallbacks.install(on: self, multi: multi)
        set(CURLOPT_ERRORBUFFER, pointer: errorText)
        set(CURLOPT_NOSIGNAL, 1)
        set(CURLOPT_QUICK_EXIT, 1)
        set(CURLOPT_PROTOCOLS_STR, "http,https")
        do {
            try setText(CURLOPT_URL, url)
            try settings.options.apply(to: self)
        } catch {
            return owner.connectionDidFail(error)
        }
        if routes != nil { check(fw_easy_set_list(easy, CURLOPT_CONNECT_TO, routes)) }
        setAddresses(AddressList.make(for: url, options: settings.options))
        // What follows is HTTP/1.1 (RFC 6455 §4.1), through a proxy by CONNECT, in clear text too.
        set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        set(CURLOPT_HTTPPROXYTUNNEL, 1)
        if proxyFields != nil { check(fw_easy_set_list(easy, CURLOPT_PROXYHEADER, proxyFields)) }
        set(CURLOPT_CONNECT_ONLY, 1)
        let unknown = OriginAddresses(origin: OriginQueue.origin(of: url), options: settings.options)
        if let unknown { lookUp(unknown) } else { connect() }
    }

    /// Tells libcurl addresses, so that it looks nothing up; the dialer owns the list.
    func setAddresses(_ list: UnsafeMutablePointer<curl_slist>?) {
        guard let list else { return }
        addresses = list
        check(fw_easy_set_list(easy, CURLOPT_RESOLVE, list))
    }

    func connect() {
        let code = curl_multi_add_handle(multi, easy)
        guard code == CURLM_OK else {
            let detail = String(cString: curl_multi_strerror(code))
            return owner.connectionDidFail(
                .exchange(.cannotLoadFromNetwork, detail: detail, engineCode: Int(code.rawValue)))
        }
    }

    // MARK: The connection

    func wait(for readiness: SocketReadiness) {
        guard descriptor >= 0 else { return }
        context.sockets.set(readiness, of: descriptor, for: self)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> ByteChannel.Outcome {
        var count = 0
        let code = curl_easy_recv(easy, buffer.baseAddress, buffer.count, &count)
        if code == CURLE_OK { return count > 0 ? .bytes(count) : .end }
        return code == CURLE_AGAIN ? .wouldBlock : .failed(failure(code))
    }

    /// Writes what the kernel takes; `.end` never comes.
    func write(_ bytes: UnsafeRawBufferPointer) -> ByteChannel.Outcome {
        var count = 0
        let code = curl_easy_send(easy, bytes.baseAddress, bytes.count, &count)
        if code == CURLE_OK { return .bytes(count) }
        return code == CURLE_AGAIN ? .wouldBlock : .failed(failure(code))
    }

    /// libcurl's counts of how the connection was made, which begin with the dialling.
    func fill(_ report: inout TransferReport, since start: LoopInstant) {
        var counts = fw_report()
        fw_easy_get_report(easy, &counts)
        report.lookedUp = lookedUp
        report.fill(from: counts, hasResponse: false)
        // This connection is nobody else's, and libcurl counts no exchange on it.
        report.isReusedConnection = false
        report.connection = details(from: counts, protocolName: nil)
    }

    /// The ends of the connection and what was agreed on for it, once the peer has answered.
    ///
    /// libcurl 7.88 knows the TLS of such a handle only once it was read from.
    var details: ConnectionDetails {
        var counts = fw_report()
        fw_easy_get_report(easy, &counts)
        return details(from: counts, protocolName: "http/1.1")
    }

    private func details(from counts: fw_report, protocolName: String?) -> ConnectionDetails {
        ConnectionDetails(
            protocolName: protocolName,
            localEndpoint: EasyHandle.endpoint(counts.local_address, counts.local_port),
            remoteEndpoint: EasyHandle.endpoint(counts.remote_address, counts.remote_port),
            tls: protocolName != nil && url.hasPrefix("https:") ? agreedTLS() : nil)
    }

    private func failure(_ code: CURLcode) -> TransferFailure {
        var counts = fw_report()
        fw_easy_get_report(easy, &counts)
        if descriptor >= 0 { OpenedSocket(descriptor).map { originAlerts?.readRest(from: $0) } }
        return CurlFailure(
            code: code, text: String(cString: errorText), verifyResult: counts.verify_result,
            osError: counts.os_error, alert: originAlerts?.fatal, hadStarted: descriptor >= 0
        ).transferFailure
    }

    // MARK: The engine

    override func timeReached(at now: LoopInstant) {
        deadline = nil
        if lookup != nil { return lookupTimedOut() }
        drive(fw_socket_timeout, 0)
    }

    private func drive(_ descriptor: curl_socket_t, _ events: Int32) {
        var stillRunning: Int32 = 0
        curl_multi_socket_action(multi, descriptor, events, &stillRunning)
        var waiting: Int32 = 0
        while let message = curl_multi_info_read(multi, &waiting) {
            guard message.pointee.msg == CURLMSG_DONE else { continue }
            return conclude(message.pointee.data.result)
        }
    }

    private func conclude(_ code: CURLcode) {
        if code != CURLE_OK, refusal == nil, let originJudge, originJudge.awaitsVerdict {
            waitsForVerdict = true
            return
        }
        if code == CURLE_COULDNT_CONNECT, let refusedAddress {
            return owner.connectionDidFail(refusal ?? .refused(.address(refusedAddress)))
        }
        guard code == CURLE_OK else { return owner.connectionDidFail(refusal ?? failure(code)) }
        guard originJudge?.isSettled ?? true else {
            return owner.connectionDidFail(refusal ?? failure(CURLE_PEER_FAILED_VERIFICATION))
        }
        fw_easy_get_socket(easy, &descriptor)
        owner.connectionDidOpen()
    }
}

extension SocketDialer: SocketWatcher {
    func socket(_ descriptor: Int32, isReady readiness: SocketReadiness) {
        if descriptor == self.descriptor { return owner.connectionIsReady() }
        var events: Int32 = 0
        if readiness.contains(.readable) { events |= CURL_CSELECT_IN }
        if readiness.contains(.writable) { events |= CURL_CSELECT_OUT }
        if !readiness.isDisjoint(with: .failed) { events |= CURL_CSELECT_ERR }
        drive(descriptor, events)
    }
}

// MARK: - Trust

extension SocketDialer {
    /// Sets up the `SSL_CTX` of the proxy's or of the origin's connection, as for any transfer.
    func prepareTLS(_ context: UnsafeMutableRawPointer) -> CURLcode {
        TLSContext.setKeyLog(keyLog, on: context)
        guard !TLSContext.takeProxyMark(from: context) else {
            hasSecureProxy = true
            PeerVerification.install(
                makeJudge(settings.ruleForProxy, failure: HandshakeJudge.proxyFailure), on: context)
            return CURLE_OK
        }
        originAlerts = hasSecureProxy ? nil : PeerAlerts()
        originAlerts?.install(on: context)
        let host = URL(string: url)?.host ?? ""
        let judge =
            originJudge.flatMap { $0.isApproved ? $0 : nil }
            ?? makeJudge(settings.rule(forHost: host)) { .untrusted($0) }
        originJudge = judge
        PeerVerification.install(judge, on: context, requestsStatus: judge.mayWait)
        do {
            try settings.identity(forHost: host).map(TLSContext.install)?(context)
            return CURLE_OK
        } catch {
            refusal = refusal ?? .exchange(.clientCertificateRejected, detail: "\(error)", engineCode: 0)
            return CURLE_SSL_CERTPROBLEM
        }
    }

    private func makeJudge(
        _ rule: HandshakeJudge.Rule, failure: @escaping (any Error) -> TransferFailure
    ) -> HandshakeJudge {
        HandshakeJudge(
            rule: rule, decisions: settings.trustDecisions, loop: context.loop,
            refuse: { [weak self] error in
                guard let self else { return }
                refusal = refusal ?? failure(error)
            },
            decided: { [weak self] in self?.trustWasDecided() })
    }

    /// Makes another handshake if one was given up for the verdict that has come; fails when it refuses the peer.
    private func trustWasDecided() {
        guard waitsForVerdict, !isHungUp else { return }
        waitsForVerdict = false
        if let refusal { return owner.connectionDidFail(refusal) }
        curl_multi_remove_handle(multi, easy)
        connect()
    }

    /// Whether the session's guard lets a connection be opened.
    func allowsConnection(to target: UnsafeMutablePointer<curl_sockaddr>) -> Bool {
        let addressGuard = settings.options.addressGuard
        guard !addressGuard.refused.isEmpty else { return true }
        let address = withUnsafePointer(to: &target.pointee.addr) { IPAddress($0) }
        guard let address, !addressGuard.allows(address) else { return true }
        refusedAddress = address
        return false
    }
}

extension SocketDialer {
    func touched() { owner.connectionDidProgress() }

    func setTimer(milliseconds: Int) {
        // At once is in the next turn: nothing else would be done while libcurl asks for that again.
        deadline = milliseconds < 0 ? nil : context.now + max(1, UInt64(milliseconds) * 1_000_000)
    }
}
