// One TLS handshake, with the evaluation of its peer.

import COpenSSL
import Foundation

/// The owner of a handshake; its methods run on the loop's thread, some of them inside `TLSHandshake.begin()`.
protocol TLSHandshakeOwner: AnyObject {
    /// The socket was ready to send or receive bytes of the handshake.
    func layerDidProgress()
    /// The handshake is done, and the peer is trusted.
    func handshakeIsDone(_ handshake: TLSHandshake, _ stream: TLSStream, speaks: ApplicationProtocol)
    func handshake(_ handshake: TLSHandshake, didFail failure: TransferFailure)
    /// The peer closed the connection during its evaluation, and the verdict accepts the peer: `gate` keeps the verdict
    /// for another handshake.
    func handshake(_ handshake: TLSHandshake, outlived gate: TrustGate)
}

/// Performs the handshake over a connected channel.
///
/// The handshake is held while a rule that may wait decides, while the files of a client identity are read, and while
/// another thread makes a step: one that signs slowly, or any step while the loop has more such work. A rule that does
/// not wait decides inside the handshake, on the loop's thread. While the handshake is held, the socket is not in the
/// epoll set: if the peer closes the connection, we notice when the handshake continues.
final class TLSHandshake {
    /// The answer to an OpenSSL callback.
    enum Answer: Equatable {
        case proceed, hold, refuse
    }

    /// Why a handshake is held.
    private enum Hold {
        case verdict
        /// The files of the client identity are being read.
        case identity
        /// The next step signs slowly, so that another thread makes it, once the peer's messages before the signature
        /// have arrived.
        case signature
    }

    private let peer: TLSPeer
    private let client: TLSClient
    private let context: LoopContext
    private weak var owner: (any TLSHandshakeOwner)?
    private var stream: TLSStream?
    private let channel: ByteChannel
    private var gate: TrustGate
    /// Whether this handshake repeats one whose peer closed the connection before the verdict; it is not repeated
    /// again.
    private let isSecondTry: Bool
    /// Why the peer is refused, or another failure inside an OpenSSL callback.
    private var failure: TransferFailure?
    private var isHeld = false
    private var wasHeld = false
    private var isOver = false
    /// Whether the next step is scheduled.
    private var isStepDue = false
    /// The client identity for this server, once its files are read.
    private var identity: LoadedIdentity?
    /// Why the handshake is held; if it is not held, why the next hold will begin.
    private var hold = Hold.verdict
    /// The step that another thread makes.
    private var offloaded: OffloadedStep?
    /// Whether OpenSSL has to be called although no records have come.
    private var isCallDue = true

    /// Makes a handshake over a channel whose socket is registered with epoll as edge-triggered.
    ///
    /// `gate` comes from an earlier handshake, whose peer closed the connection before the verdict; `nil` for a first
    /// try.
    init(
        with peer: TLSPeer, over channel: ByteChannel, gate: TrustGate?, client: TLSClient, context: LoopContext,
        owner: any TLSHandshakeOwner
    ) {
        self.peer = peer
        self.channel = channel
        self.client = client
        self.context = context
        self.owner = owner
        self.gate = gate ?? TrustGate()
        isSecondTry = gate != nil
    }

    /// Begins the handshake; may call the owner before it returns.
    ///
    /// - Parameter records: bytes that the peer sent and that were read already.
    func begin(records: [UInt8] = []) {
        // The result can be ignored: the handshake reads before it waits, and so notices an earlier end of the
        // connection.
        _ = context.sockets.hand(channel.descriptor, to: self)
        guard let identity = peer.isProxy ? nil : client.settings.identity(forHost: peer.host) else {
            return makeStream(records)
        }
        read(identity) { $0.makeStream(records) }
    }

    private func makeStream(_ records: [UInt8]) {
        if let failure { return fail(failure) }
        do {
            let made = try client.makeStream(to: peer, showing: identity, over: channel, in: context)
            made.handshake = self
            made.prepend(records)
            stream = made
        } catch {
            return fail(error)
        }
        driveSoon()
    }

    /// Reads an identity's files on another thread; `body` then runs on the loop's thread.
    private func read(_ identity: ClientIdentity, then body: @escaping @Sendable (TLSHandshake) -> Void) {
        let reply = HandshakeReply(self)
        identity.load { [loop = context.loop] content in
            loop.post { _ in
                guard let handshake = reply.handshake, !handshake.isOver else { return }
                switch content {
                case .success(let loaded): handshake.identity = loaded
                case .failure(let error): handshake.failure = TLSFailure.unusable(error)
                }
                body(handshake)
            }
        }
    }

    /// Ends the handshake; afterwards the owner is not called any more and has to close the channel.
    func abandon() {
        isOver = true
        stream = nil
        offloaded?.cancel()
    }

    // MARK: The handshake

    /// Schedules the next step after all other work of this loop iteration, since a signature may take as long as a
    /// whole iteration.
    private func driveSoon() {
        guard !isStepDue else { return }
        isStepDue = true
        context.continueWithDearWork(self)
    }

    private func drive() {
        guard !isOver, !isHeld, let stream else { return }
        if hold == .signature || context.isBusy {
            if stream.gatherRecords() || isCallDue { offload(stream) }
            return
        }
        isCallDue = false
        take(stream.shakeHands(), of: stream)
    }

    private func take(_ step: TLSStream.HandshakeStep, of stream: TLSStream) {
        switch step {
        case .done: finish(stream)
        case .wantsRecords: flightIsMade(by: stream)
        case .held: beHeld(by: stream)
        case .failed(let errors): fail(errors, of: stream)
        }
    }

    /// Called when our next messages are ready: starts the evaluation of the peer, if these messages wait for the
    /// verdict.
    private func flightIsMade(by stream: TLSStream) {
        guard gate.isProvisional, stream.hasUnsentRecords else { return }
        switch answer(to: .flight(status: PeerEvidence.stapledStatus(of: stream.ssl))) {
        case .proceed: release(stream)
        case .hold: beHeld(by: stream)
        case .refuse: fail(OpenSSLError(entries: []), of: stream)
        }
    }

    private func release(_ stream: TLSStream) {
        stream.holdsRecords = false
        stream.flush()
    }

    private func finish(_ stream: TLSStream) {
        let isResumed = SSL_session_reused(stream.ssl) == 1
        guard answer(to: .done(isResumed: isResumed)) == .proceed else {
            return fail(failure ?? TLSFailure.unjudged(peer.host))
        }
        // In TLS 1.3 the handshake is done on our side with our last message, even if the peer has closed the
        // connection.
        if wasHeld, !isSecondTry, stream.hasSomethingToRead, stream.hasLostPeer { return outlive() }
        let version = agreedProtocol(of: stream)
        if version == .http2, let flaw = HTTP2Security.flaw(of: stream.ssl) {
            return fail(TLSFailure.unfit(peer.host, flaw))
        }
        isOver = true
        stream.handshake = nil
        owner?.handshakeIsDone(self, stream, speaks: version)
    }

    /// Returns the protocol that ALPN selected; HTTP/1.1 if ALPN selected none.
    private func agreedProtocol(of stream: TLSStream) -> ApplicationProtocol {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        SSL_get0_alpn_selected(stream.ssl, &bytes, &count)
        let name = UnsafeBufferPointer(start: bytes, count: Int(count))
        return peer.offer.first { $0.name.utf8.elementsEqual(name) } ?? .http1
    }

    private func fail(_ errors: OpenSSLError, of stream: TLSStream) {
        if failure == nil, wasHeld, !isSecondTry, stream.hasLostPeer, case .accepted = gate.state {
            return outlive()
        }
        fail(
            failure
                ?? TLSFailure.ofHandshake(
                    with: peer.host, errors, isCut: stream.isCut, below: stream.lowerFailure))
    }

    /// Ends the handshake because the peer closed the connection during a hold; another handshake uses the verdict.
    private func outlive() {
        abandon()
        owner?.handshake(self, outlived: gate)
    }

    private func fail(_ failure: TransferFailure) {
        abandon()
        owner?.handshake(self, didFail: failure)
    }

    // MARK: The verdict

    /// Called when the peer's certificate chain has arrived; returns the answer to OpenSSL.
    func verify(_ evidence: PeerEvidence) -> Answer {
        let shown = TrustGate.Evidence(chain: evidence.chain, status: evidence.stapledStatus)
        return answer(to: .chain(shown, mayStaple: peer.rule.mayWait && evidence.mayStapleLater))
    }

    /// Called when the server asks for a client certificate; returns the answer to OpenSSL.
    ///
    /// The peer is evaluated first, because the rule that decides about the peer may also choose the identity.
    func identityWanted() -> Answer {
        guard let stream else { return .refuse }
        if gate.isProvisional {
            let answer = answer(to: .flight(status: PeerEvidence.stapledStatus(of: stream.ssl)))
            guard answer == .proceed else { return answer }
            stream.holdsRecords = false
        }
        guard failure == nil else { return .refuse }
        guard let wanted = peer.isProxy ? nil : client.settings.identity(forHost: peer.host) else { return .proceed }
        guard let identity, identity.identity == wanted else {
            hold = .identity
            read(wanted) { $0.identityIsRead() }
            return .hold
        }
        if wanted != stream.resumption.key.identity {
            do throws(TransferFailure) {
                stream.resumption.key.certificate = try TLSClient.install(identity, on: stream.ssl)
                stream.resumption.key.identity = wanted
            } catch {
                failure = error
                return .refuse
            }
        }
        guard identity.signsSlowly else { return .proceed }
        hold = .signature
        return .hold
    }

    private func answer(to event: TrustGate.Event) -> Answer {
        switch gate.handle(event) {
        case .proceed: return .proceed
        case .proceedSilently:
            stream?.holdsRecords = true
            return .proceed
        case .hold: return .hold
        case .refuse: return .refuse
        case .decide(let evidence): return decide(evidence)
        }
    }

    private func decide(_ evidence: TrustGate.Evidence) -> Answer {
        if !peer.rule.mayWait {
            let trust = makeTrust(evidence, mayWait: false)
            let outcome = Result { try peer.rule.decide(trust) }
            if !trust.wantsToWait { return take(outcome, about: evidence, until: trust.verdictEnd) }
        }
        let reply = HandshakeReply(self)
        let trust = makeTrust(evidence, mayWait: true)
        client.settings.trustDecisions.decide(trust, by: peer.rule) { [loop = context.loop] outcome, end in
            loop.post { _ in reply.handshake?.decided(outcome, about: evidence, until: end) }
        }
        return .hold
    }

    private func makeTrust(_ evidence: TrustGate.Evidence, mayWait: Bool) -> ServerTrust {
        ServerTrust(
            certificates: evidence.chain, host: peer.rule.host, authorities: peer.rule.authorities,
            rules: TrustRules(), stapledStatus: evidence.status, port: peer.port, mayWait: mayWait,
            statuses: client.settings.statuses)
    }

    /// Handles a verdict; returns the answer to OpenSSL.
    private func take(
        _ outcome: Result<Void, any Error>, about evidence: TrustGate.Evidence, until end: Date?
    ) -> Answer {
        switch outcome {
        case .success: stream?.resumption.expiry = VerdictLifetime.end(of: evidence.chain, until: end)
        case .failure(let error):
            failure = failure ?? (peer.isProxy ? TLSFailure.untrustedProxy(error) : .untrusted(error))
        }
        return answer(to: .verdict(isAccepted: failure == nil))
    }

    // MARK: Holding

    private func beHeld(by stream: TLSStream) {
        switch hold {
        case .verdict: wasHeld = true
        case .identity: break
        case .signature:
            stream.answer(.identity, .proceed)
            return offload(stream)
        }
        leaveSocket()
    }

    private func leaveSocket() {
        guard !isHeld else { return }
        isHeld = true
        context.sockets.willClose(channel.descriptor)
    }

    private func returnToSocket() {
        isHeld = false
        context.sockets.watchEdges(of: channel.descriptor, for: self)
    }

    /// Calls OpenSSL again after a hold.
    private func endHold() {
        returnToSocket()
        isCallDue = true
        driveSoon()
    }

    /// Ends the hold for the identity; OpenSSL then calls `identityWanted()` again.
    private func identityIsRead() {
        guard hold == .identity else { return }
        hold = .verdict
        endHold()
    }

    // MARK: Steps on another thread

    /// Lends the stream to another thread, which makes the next step.
    private func offload(_ stream: TLSStream) {
        leaveSocket()
        isCallDue = false
        let reply = HandshakeReply(self)
        let step = OffloadedStep(of: stream, by: client)
        offloaded = step
        step.make(in: context) { reply.handshake?.offloadedStepIsMade($0) }
    }

    private func offloadedStepIsMade(_ step: TLSStream.HandshakeStep) {
        guard !isOver, let stream else { return }
        offloaded = nil
        stream.storeNewSessions()
        if let question = stream.takeQuestion() { return answer(question, of: stream) }
        returnToSocket()
        // Our alert is among these records when the step has failed.
        stream.flush()
        if hold == .signature, stream.hasMadeRecords { hold = .verdict }
        take(step, of: stream)
    }

    /// Answers what a callback has asked on another thread.
    private func answer(_ question: TLSStream.Question, of stream: TLSStream) {
        let answer =
            switch question {
            case .peer(let evidence): verify(evidence)
            case .identity: identityWanted()
            }
        guard answer != .hold else { return beHeld(by: stream) }
        stream.answer(question, answer)
        offload(stream)
    }

    /// Called when the awaited verdict has arrived.
    fileprivate func decided(
        _ outcome: Result<Void, any Error>, about evidence: TrustGate.Evidence, until end: Date?
    ) {
        guard !isOver, isHeld, let stream else { return }
        returnToSocket()
        isCallDue = true
        guard take(outcome, about: evidence, until: end) == .proceed else {
            // OpenSSL calls the verifier again, receives the refusal, and sends an alert to the peer.
            if !stream.holdsRecords { return driveSoon() }
            return fail(OpenSSLError(entries: []), of: stream)
        }
        if stream.holdsRecords { release(stream) }
        driveSoon()
    }
}

extension TLSHandshake: SocketWatcher {
    func socket(_ descriptor: Int32, isReady readiness: SocketReadiness) {
        owner?.layerDidProgress()
        stream?.flush()
        driveSoon()
    }

    func socket(_ descriptor: Int32, lostAddress address: IPAddress) {
        if !isOver { fail(.lostAddress(address)) }
    }
}

extension TLSHandshake: NextIteration {
    func continueWork() {
        isStepDue = false
        drive()
    }
}

/// The lifetime of a verdict on a server.
enum VerdictLifetime {
    /// The longest time for which a session may be resumed without a new evaluation of its peer.
    private static let limit: TimeInterval = 24 * 3600

    /// Returns the end of a verdict that is made now.
    ///
    /// The verdict ends after one day, when the leaf certificate expires, or at the limit set by the evaluation
    /// (`ServerTrust.limitVerdict(to:)`), whichever is first. If the leaf has expired but was accepted, the peer is
    /// evaluated at each handshake.
    static func end(of chain: [Certificate], until end: Date?, now: Date = Date()) -> Date {
        min(now + limit, chain.first?.notAfter ?? now, end ?? .distantFuture)
    }
}

extension TLSFailure {
    /// The client identity cannot be read, or cannot be used.
    static func unusable(_ error: ClientIdentityError) -> TransferFailure {
        .exchange(.clientCertificateRejected, detail: error.plainText, engineCode: 0)
    }

    /// The TLS connection is not allowed to carry HTTP/2, which ALPN selected.
    static func unfit(_ host: String, _ flaw: String) -> TransferFailure {
        .exchange(
            .secureConnectionFailed, detail: "\(host) chose HTTP/2 with \(flaw), which HTTP/2 forbids", engineCode: 0)
    }

    /// The proxy is not trusted.
    static func untrustedProxy(_ error: any Error) -> TransferFailure {
        .exchange(
            (error as? TrustFailure)?.urlErrorCode ?? .serverCertificateUntrusted,
            detail: "the proxy is not trusted: \(error.plainText)", engineCode: 0)
    }

    /// The handshake ended before the peer's certificates were evaluated.
    static func unjudged(_ host: String) -> TransferFailure {
        .exchange(
            .secureConnectionFailed, detail: "the TLS handshake with \(host) ended without certificates", engineCode: 0)
    }
}

/// Delivers a verdict, an identity or a signature to a handshake that may no longer exist.
private final class HandshakeReply: @unchecked Sendable {
    // SAFETY: the property is set and read on the loop's thread only; other threads merely hold a reference to this
    // object.
    private(set) weak var handshake: TLSHandshake?

    init(_ handshake: TLSHandshake) { self.handshake = handshake }
}
