// What a transfer's TLS connections are told before their handshakes: who judges the peer, and who we are.

import CCurl
import Foundation

extension EasyHandle {
    /// Sets up the `SSL_CTX` of a connection that is made for this transfer.
    ///
    /// libcurl asks for the origin's and for the proxy's connection alike; each has rules of its own.
    func prepareTLS(_ context: UnsafeMutableRawPointer) -> CURLcode {
        guard let transfer else { return CURLE_ABORTED_BY_CALLBACK }
        TLSContext.setKeyLog(pool.keyLog, on: context)
        SessionCopies.install(on: context)
        // The losers of several attempts to connect are closed by now.
        let connected = openedSockets.filter(\.isOpen)
        if connected.count == 1 {
            let gauge = RecordGauge(
                connected[0], limit: pool.settings.options.maximumFramingByteCount, meter: pool.meter, rules: pool)
            gauge.install(on: context)
        }
        guard !TLSContext.takeProxyMark(from: context) else {
            hasSecureProxy = true
            let rule = pool.settings.ruleForProxy
            PeerVerification.install(makeJudge(rule, for: transfer, failure: HandshakeJudge.proxyFailure), on: context)
            return CURLE_OK
        }
        // Inside the TLS of a proxy, the socket does not carry the origin's records.
        originAlerts = hasSecureProxy ? nil : PeerAlerts()
        originAlerts?.install(on: context)
        if let originAlerts, let origin = transfer.queue?.origin {
            pool.alerts.add(originAlerts, of: connected.count == 1 ? connected[0] : nil, to: origin)
        }
        let host = URL(string: transfer.message.url)?.host ?? ""
        // A judge that has its verdict carries it over to this connection.
        let judge =
            originJudge.flatMap { $0.isApproved ? $0 : nil }
            ?? makeJudge(pool.settings.rule(forHost: host), for: transfer) { .untrusted($0) }
        originJudge = judge
        PeerVerification.install(judge, on: context, requestsStatus: judge.mayWait)
        do {
            try pool.settings.identity(forHost: host).map(TLSContext.install)?(context)
            return CURLE_OK
        } catch {
            transfer.failure =
                transfer.failure ?? .exchange(.clientCertificateRejected, detail: "\(error)", engineCode: 0)
            return CURLE_SSL_CERTPROBLEM
        }
    }

    private func makeJudge(
        _ rule: HandshakeJudge.Rule, for transfer: Transfer, failure: @escaping (any Error) -> TransferFailure
    ) -> HandshakeJudge {
        HandshakeJudge(
            rule: rule, decisions: pool.settings.trustDecisions, loop: pool.context.loop,
            refuse: { [weak transfer] error in
                guard let transfer else { return }
                transfer.failure = transfer.failure ?? failure(error)
            },
            decided: { [weak transfer, unowned pool] in
                guard let transfer else { return }
                pool.trustWasDecided(about: transfer)
            })
    }
}
