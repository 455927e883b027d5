// An attempt and the `URLProtocol` classes of its session.

import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Attempt: ProtocolHost {
    func offerToProtocols(_ exchange: ChainContext, completion: @escaping @Sendable (LocalAnswer?) -> Void) {
        guard let classes = core.protocolClasses else { return completion(nil) }
        ProtocolThread.shared.perform { [self] in
            // An attempt that has ended or was cancelled needs no answer, so no class is asked.
            guard !state.withLock({ $0.isOver }) else { return completion(nil) }
            let accepted = classes.accepting(self) { protocolRequest(of: exchange) }
            guard let (type, request) = accepted else { return completion(nil) }
            findStored(for: exchange) { [self] stored in
                let order = ProtocolTransfer.Order(
                    type: type, request: request, cachedResponse: stored,
                    idleTimeout: core.settings.idleTimeout(of: record.existing),
                    deadlineNanoseconds: deadlineNanoseconds,
                    wantsReadComplete: gathersContent, clock: core.clock)
                completion(LocalAnswer(source: .network) { [self] _ in ProtocolTransfer(order, for: self) })
            }
        }
    }

    /// Makes the request that a `URLProtocol` gets for a message.
    ///
    /// Content is in `httpBodyStream`, and never in `httpBody`, as on Apple's platforms.
    private func protocolRequest(of exchange: ChainContext) -> URLRequest {
        let message = exchange.message
        var request = message.urlRequest ?? Redirection.urlRequest(of: message)
        request.url = message.url
        request.httpMethod = message.method
        request.headers = HTTPHeaders(
            exchange.fields.fields.map { HTTPHeader(name: $0.name, value: $0.value) })
        request.cachePolicy = cachePolicy
        request.timeoutInterval = core.settings.idleTimeout(of: record.existing)
        request.httpBody = nil
        request.httpBodyStream = message.body.makeInputStream()
        return request
    }

    /// Calls `body` with the stored response for a message, or `nil`; a protocol class may revalidate that response.
    private func findStored(
        for exchange: ChainContext, _ body: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        let url = exchange.url
        guard let cache = core.cache else { return body(nil) }
        let request = CacheQuery(exchange, policy: cachePolicy, in: cache)
        guard cache.needsLook(request) else { return body(nil) }
        cache.select(for: request) { body($0?.cachedURLResponse(for: url)) }
    }

    // MARK: Reports of a protocol

    /// Calls `body` with the task; during the call the task shows the offer's request.
    func offering<Result>(_ offer: ProtocolOffer, to body: (URLSessionTask) -> Result) -> Result {
        state.withLock { $0.task.protocolOffer = offer }
        defer { state.withLock { $0.task.protocolOffer = nil } }
        return body(sessionTask)
    }

    /// Takes a protocol's response.
    ///
    /// The response is final: neither its status nor its `Set-Cookie` fields have an effect, as on Apple's platforms.
    func protocolDidReceive(_ response: URLResponse?, _ origin: ProtocolInbox.ResponseOrigin) -> Flow {
        guard let http = response as? HTTPURLResponse ?? placeholder(for: response) else {
            handle(.delivers)
            return .undecided
        }
        let head = ResponseHead(http)
        let hasOwner = note(http, head)
        switch origin {
        case .made(.notAllowed): break
        case .made(let policy):
            if let cache = core.cache {
                let exchange = state.withLock { $0.context }
                var deferredWork: [ChainContext.DeferredWork] = []
                let recorder = ResponseRecorder.note(
                    head, to: CacheQuery(exchange, policy: cachePolicy, in: cache), sentAt: cache.moment,
                    isValidated: false, isMemoryOnly: policy == .allowedInMemoryOnly, cache: cache,
                    storing: storingPolicy, deferredWork: &deferredWork)
                state.withLock { [deferredWork] in $0.record(with: recorder, deferredWork) }
            }
        case .stored: state.withLock { $0.setSource(.cache) }
        }
        if hasOwner { show(head, isInCall: true) } else { handle(.delivers) }
        return state.withLock { $0.life.holds.flow }
    }

    /// Follows a redirect that a protocol reports: the redirect handler decides, and the classes are asked about the
    /// next message.
    func protocolDidRedirect(to request: URLRequest, _ response: URLResponse) {
        let given = (response as? HTTPURLResponse).map { ($0, ResponseHead($0)) }
        // A redirect has a status from 300 to 399, so any other response is shown as a 302.
        let head = given?.1.isRedirect == true ? given?.1 : nil
        let shown = head ?? ResponseHead(status: 302, fields: given?.1.fields ?? [])
        let exchange = state.withLock { $0.context }
        guard let http = given?.0 ?? shown.httpURLResponse(for: exchange.url), note(http, shown) else { return }
        let redirects = RedirectLink(settings: core.settings, queue: core.arguments.rootQueue)
        let decision = redirects.decide(on: withoutSentCookies(request), after: exchange.message, for: self)
        // Position 0 is the outermost link, so no other link is asked: a redirect that is not followed becomes the
        // response.
        follow(decision, at: .back(0, shown), exchange)
    }

    /// Answers a protocol's challenge as the session's delegate decides; by default, once with the request's
    /// credential.
    func answer(_ challenge: SendableChallenge) {
        owningRequest?.attempt(self, didReceive: challenge)
        guard core.arguments.delegate.isSubclass else { return answer(challenge, by: .byDefault) }
        let decide = firstOnly { [self] (answer: ChallengeAnswer) in
            ProtocolThread.shared.perform { [self] in self.answer(challenge, by: answer) }
        }
        core.arguments.rootQueue.async { [self] in
            core.arguments.delegate.urlSession(core.urlSession, task: sessionTask, didReceive: challenge.value) {
                decide(ChallengeAnswer(disposition: $0, credential: $1))
            }
        }
    }

    private func answer(_ shown: SendableChallenge, by answer: ChallengeAnswer) {
        let challenge = shown.value
        guard let sender = challenge.sender else { return }
        switch answer.disposition {
        case .useCredential:
            guard let credential = answer.credential else { return sender.continueWithoutCredential(for: challenge) }
            sender.use(credential, for: challenge)
        case .cancelAuthenticationChallenge:
            sender.cancel(challenge)
            cancelTask()
        case .rejectProtectionSpace: sender.rejectProtectionSpaceAndContinue(with: challenge)
        case .performDefaultHandling: answerByDefault(challenge, sender)
        @unknown default: answerByDefault(challenge, sender)
        }
    }

    private func answerByDefault(
        _ challenge: URLAuthenticationChallenge, _ sender: any URLAuthenticationChallengeSender
    ) {
        let isPassword = [
            NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodHTMLForm, NSURLAuthenticationMethodHTTPBasic,
            NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodNegotiate, NSURLAuthenticationMethodNTLM,
        ].contains(challenge.protectionSpace.authenticationMethod)
        guard isPassword, let credential = state.withLock({ $0.message.remembered }) else {
            return sender.performDefaultHandling(for: challenge)
        }
        guard challenge.previousFailureCount == 0 else {
            return sender.rejectProtectionSpaceAndContinue(with: challenge)
        }
        sender.use(credential, for: challenge)
    }

    private func note(_ response: HTTPURLResponse, _ head: ResponseHead) -> Bool {
        state.withLock { state in
            state.setHead(head, shownAs: response)
            return state.owner != nil
        }
    }

    /// Returns a 200 response to begin a download whose protocol gave no HTTP response, since a download needs a head.
    ///
    /// Returns `nil` for other requests: they have no response then.
    private func placeholder(for response: URLResponse?) -> HTTPURLResponse? {
        guard case .download = kind else { return nil }
        let fields = response?.mimeType.map { [Field(name: "Content-Type", value: $0)] } ?? []
        return ResponseHead(status: 200, fields: fields).httpURLResponse(for: state.withLock { $0.message.url })
    }

    /// Returns the request of a redirect without the cookies that links added to the previous message: the next message
    /// gets its own cookies.
    private func withoutSentCookies(_ request: URLRequest) -> URLRequest {
        let exchange = state.withLock { $0.context }
        guard !exchange.message.fields.contains("Cookie"), let sent = exchange.fields.value(of: "Cookie"),
            request.headers["Cookie"] == sent
        else {
            return request
        }
        var request = request
        request.headers["Cookie"] = nil
        return request
    }
}

extension ResponseHead {
    /// The head of a response that did not come over the wire.
    fileprivate init(_ response: HTTPURLResponse) {
        let fields = response.headers.map { header in
            let value = header.value.split(whereSeparator: \.isNewline).joined(separator: " ")
            return Field(name: header.name, value: value)
        }
        self.init(status: response.statusCode, fields: fields)
    }

    fileprivate var isRedirect: Bool { (300..<400).contains(status) }
}
