// The steps from a request to an attempt: the `URLRequest` is made, checked, adapted, and given to a new attempt.

import Dispatch
import FireweedTransport
import Foundation
import FoundationNetworking
import Synchronization

extension Request {
    /// Makes the request message and a task for it; on the caller's thread, unless the session has a queue for that.
    func make() {
        guard core.registry.activate(self) else { return fail(.sessionDraining) }
        let (isOver, hasDeadline) = mutable.withLock { ($0.lifecycle.work == .done, $0.extras?.deadline != nil) }
        // Another thread may have ended the request before `activate`: then only this call removes it from the
        // registry.
        if isOver { core.release(self) {} }
        if hasDeadline { startDeadline() }
        guard let queue = core.arguments.requestQueue else { return makeNow() }
        queue.async {
            // When the request was cancelled while it waited for the queue, no adapter runs, and no file is opened.
            guard self.mutable.withLock({ $0.lifecycle.isMaking }) else { return }
            self.makeNow()
        }
    }

    private func makeNow() {
        if let invalidation = core.invalidation { return fail(invalidation) }
        let made = Result { try parts.receiver.completing(RequestRecord(parts.origin)) }
        guard beginAnnouncement(during: .making) else { return }
        guard let record = announced(made) else { return endAnnouncement() }
        guard case .upload(let content) = parts.content else { return proceed(with: record) }
        endAnnouncement()  // a cancel does not wait until the content is made
        // The content is prepared after the `URLRequest`, since the code that makes the `URLRequest` may add parts to a
        // form.
        let prepared = Result { () throws(AFError) in try content.prepare() }
        guard beginAnnouncement(during: .making) else { return }
        content.announce(prepared, of: self)
        guard case .failure(let error) = prepared else { return proceed(with: record) }
        fail(error)
        endAnnouncement()
    }

    /// Adapts the request message and makes the task; ends the announcement that the caller has begun.
    private func proceed(with record: RequestRecord) {
        let own = mutable.withLock { state in
            state.append(record)
            return state.interceptor
        }
        guard let adapter = adapter(before: own) else {
            makeTask(for: record)
            return endAnnouncement()
        }
        endAnnouncement()
        adapt(record, by: adapter)
    }

    /// Notifies monitors of the record and checks it; `nil` when the request has failed.
    private func announced(_ made: Result<RequestRecord, any Error>) -> RequestRecord? {
        do {
            let record = try made.get()
            notifyMonitors(.requestMaking) { $0.request($1, didCreateInitialURLRequest: record.urlRequest) }
            try record.validate(schemes: parts.receiver.schemes)
            if let violation = core.settings.fieldViolation { throw violation }
            return record
        } catch {
            failCreation(error)
        }
        return nil
    }

    /// Delays the end of the request until `endAnnouncement`; returns false, and delays nothing, when the request is no
    /// longer doing this work, for instance because it was cancelled.
    func beginAnnouncement(during work: RequestState.Work) -> Bool {
        mutable.withLock { state in
            guard state.lifecycle.work == work else { return false }
            state.announcements.begin()
            return true
        }
    }

    func endAnnouncement() {
        if mutable.withLock({ $0.announcements.end() }) { startConclusion() }
    }

    // MARK: Adapting

    /// Returns the session's interceptor and then the request's own, the order of Alamofire 5.11 and later.
    private func adapter(before own: (any RequestInterceptor)?) -> (any RequestAdapter)? {
        guard let own, let shared = core.arguments.interceptor else { return own ?? core.arguments.interceptor }
        return Interceptor(adapters: [shared, own])
    }

    private func adapt(_ record: RequestRecord, by adapter: any RequestAdapter) {
        guard let session = core.session else { return fail(core.invalidation ?? .sessionDeinitialized) }
        let state = RequestAdapterState(requestID: id, session: session, request: self)
        let initial = record.urlRequest
        adapter.adapt(initial, using: state, completion: firstOnly { self.adapted(initial, $0) })
    }

    private func adapted(_ initial: URLRequest, _ result: Result<URLRequest, any Error>) {
        guard beginAnnouncement(during: .making) else { return }
        defer { endAnnouncement() }
        let adapted: RequestRecord
        do {
            adapted = try RequestRecord(result.get())
            try adapted.validate(schemes: parts.receiver.schemes)
        } catch {
            return failAdaptation(of: initial, error)
        }
        notifyMonitors(.requestMaking) { $0.request($1, didAdaptInitialRequest: initial, to: adapted.urlRequest) }
        mutable.withLock { $0.append(adapted) }
        makeTask(for: adapted)
    }

    private func failAdaptation(of request: URLRequest, _ error: any Error) {
        let failure = AFError.requestAdaptationFailed(error: error)
        notifyMonitors(.requestMaking) { $0.request($1, didFailToAdaptURLRequest: request, withError: failure) }
        fail(failure)
    }

    // MARK: The task

    private func makeTask(for record: RequestRecord) {
        notifyMonitors(.requestMaking) { $0.request($1, didCreateURLRequest: record.urlRequest) }
        passOn(record)
        let message: OutgoingMessage
        do {
            let (credential, schemes) = mutable.withLock { ($0.extras?.credential, $0.extras?.schemes) }
            let body = try parts.content.source(for: record, of: self)
            let plain = try record.message(body: body, credential: credential, schemes: schemes, core: core)
            message = parts.receiver.completing(plain, of: record, for: self)
        } catch {
            return failCreation(error)
        }
        let attempt = Attempt(
            record: record, message: consume message, kind: parts.taskKind, core: core, owner: .request(self))
        guard mutable.withLock({ $0.append(attempt) }) else { return }
        notifyMonitors(.tasks) { $0.request($1, didCreateTask: attempt.sessionTask) }
        passOnTask(of: attempt)
        var isWaitedFor = false
        handle(.made) { state in
            isWaitedFor = state.lifecycle.isMaking
        }
        guard !isWaitedFor else { return }
        attempt.abandon()  // the request was cancelled: no other code ends the attempt
        mutable.withLock { $0.abandon(attempt) }
    }

    private func failCreation(_ error: any Error) {
        let error = error.asAFError(or: .createURLRequestFailed(error: error))
        notifyMonitors(.requestMaking) { $0.request($1, didFailToCreateURLRequestWithError: error) }
        fail(error)
    }

    func fail(_ error: AFError) {
        callCURLHandlers()
        handle(.makingFailed) { $0.fail(error) }
    }

    // MARK: Handlers of the request and the task

    private func passOn(_ record: RequestRecord) {
        let (wanted, listeners) = mutable.withLock { ($0.extras?.urlRequestHandler, $0.extras?.listeners) }
        guard let listeners else { return }
        if let (queue, handler) = wanted {
            let request = record.urlRequest
            queue.async { handler(request) }
        }
        callCURLHandlers()
        for listener in listeners.urlRequests { listener.push(record.urlRequest) }
        for listener in listeners.commands { listener.push(cURLDescription()) }
    }

    private func passOnTask(of attempt: Attempt) {
        let (wanted, listeners) = mutable.withLock { ($0.extras?.taskHandler, $0.extras?.listeners.tasks) }
        for listener in listeners ?? [] { listener.push(attempt.sessionTask) }
        guard let (queue, handler) = wanted else { return }
        let task = attempt.sessionTask
        queue.async { handler(task) }
    }
}

extension RequestRecord {
    /// The schemes of ordinary requests, in lower case.
    static let schemes = ["http", "https"]

    /// The content that the `URLRequest` itself carries.
    var body: MessageContent {
        guard let request = existing else { return .none }
        if let data = request.httpBody, !data.isEmpty { return .data(data) }
        guard let stream = request.httpBodyStream else { return .none }
        return .oneShot(stream, byteCount: request.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) })
    }

    /// Throws for a URL, a method or a field that must not be sent.
    ///
    /// Another scheme is refused later, by the task, as with URLSession: an adapter may still complete the URL.
    func validate(schemes: [String] = RequestRecord.schemes) throws {
        // Allow-lists, trust, cookies and netrc check `URL.host`, so a URL without a host must not be sent.
        guard !hasScheme(of: schemes) || RequestMessage.hasAuthority(url.absoluteString) else {
            throw AFError.createURLRequestFailed(error: URLError.badURL("the URL has no host"))
        }
        try existing?.validate()
        if let violation = FieldSyntax.firstViolation(method: method, headers: ownHeaders) { throw violation }
    }

    /// Whether the URL has one of these schemes; the comparison ignores case (RFC 3986 §3.1).
    func hasScheme(of schemes: [String]) -> Bool {
        let text = url.absoluteString
        return schemes.contains { text.hasScheme($0) }
    }

    /// Returns the fields with the type that URLSession gives to the `httpBody` of a POST that has none.
    func withContentType(_ fields: FieldBlock) -> FieldBlock {
        guard method == "POST", existing?.httpBody?.isEmpty == false, !fields.contains("Content-Type") else {
            return fields
        }
        return FieldBlock(fields, adding: [Field(name: "Content-Type", value: "application/x-www-form-urlencoded")])
    }

    /// Makes the first message; the record's fields take precedence over the session's.
    ///
    /// Throws when the credential cannot be sent.
    func message(
        body: MessageContent, credential: URLCredential?, schemes: AuthenticationSchemes?, core: SessionCore
    ) throws -> OutgoingMessage {
        let plain = OutgoingMessage(
            url: url.withLowercasedScheme, method: method,
            fields: withContentType(core.settings.fields(addedTo: ownHeaders)), body: body, urlRequest: existing)
        guard let credential, let user = credential.user else { return plain }
        let password = credential.password ?? ""
        // An empty user and an empty password select the user's Kerberos ticket.
        let schemes = schemes ?? (user.isEmpty && password.isEmpty ? .negotiate : .password)
        let credentials = RequestMessage.Credentials(user: user, password: password, schemes: schemes)
        guard credentials.isSendable else {
            throw AFError.createURLRequestFailed(
                error: RequestSyntaxError.invalidHeaderField(name: "Authorization"))
        }
        var message = plain
        message.adopt(credentials)
        message.remembered = credential
        return message
    }
}

extension MessageContent {
    /// Content from a stream that can be read once; a second read throws `URLError.requestBodyStreamExhausted`.
    static func oneShot(_ stream: InputStream, byteCount: Int64?) -> MessageContent {
        oneShot(OneShotStream(stream), byteCount: byteCount)
    }

    static func oneShot(_ box: OneShotStream, byteCount: Int64?) -> MessageContent {
        .reader {
            guard let stream = box.take() else { throw URLError(.requestBodyStreamExhausted) }
            return StreamBodyReader(opening: stream, byteCount: byteCount)
        }
    }
}

extension String {
    /// Whether the text of a URL has this lower-case scheme; faster than `URL.scheme`, which makes a string each time.
    func hasScheme(_ scheme: String, ignoringCase: Bool = true) -> Bool {
        // Bit 5 is the case of an ASCII letter, and the given schemes have only letters.
        let caseBit: UInt8 = ignoringCase ? 0x20 : 0
        let (text, scheme) = (utf8.span, scheme.utf8.span)
        guard text.count > scheme.count else { return false }
        for index in 0..<scheme.count where text[index] | caseBit != scheme[index] { return false }
        return text[scheme.count] == UInt8(ascii: ":")
    }

    /// Whether a URL's text begins with `http:` or `https:` in lower case.
    var hasUsualScheme: Bool { hasScheme("http", ignoringCase: false) || hasScheme("https", ignoringCase: false) }
}

extension URL {
    /// The same URL with its scheme in lower case; later code compares schemes as they are.
    var withLowercasedScheme: URL {
        let text = absoluteString
        if text.hasUsualScheme { return self }
        let end = text.utf8.firstIndex(of: UInt8(ascii: ":")) ?? text.startIndex
        guard text.utf8[..<end].contains(where: { (0x41...0x5A).contains($0) }) else { return self }
        return URL(string: text[..<end].lowercased() + text[end...]) ?? self
    }
}
