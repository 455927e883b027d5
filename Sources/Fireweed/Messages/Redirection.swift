// Construction of the message that follows a redirect.

import FireweedTransport
import Foundation
import FoundationNetworking

/// Makes the message that follows a redirect.
enum Redirection {
    /// The message that a redirect leads to.
    struct Proposal {
        let message: OutgoingMessage
        /// Why the message cannot be sent; `nil` when it can.
        ///
        /// The redirect handler is called for such a message too, since it may take the redirect as the response, or
        /// send another request: a sign-in may end with a redirect to an app's own scheme.
        var obstacle: TransferFailure?
    }

    /// Returns the proposal of a redirect, or a failure after too many redirects; `nil` when the response is not a
    /// redirect.
    ///
    /// At most `limit` redirects are followed. A message to another origin loses the fields in `credentialFieldNames`.
    /// When `Location` is not a URL, the proposal has the present URL and an obstacle.
    static func next(
        after message: OutgoingMessage, head: ResponseHead, limit: Int, credentialFieldNames: [String]
    ) -> Result<Proposal, TransferFailure>? {
        guard RedirectRules.statuses.contains(head.status), let location = head.location else { return nil }
        guard message.redirectCount < limit else { return .failure(tooManyRedirects(limit)) }
        let target = RedirectRules.target(of: location, from: message.url)
        let url = target.map { message.webSocket == nil ? $0 : WebSocketURL.onTheWire($0) } ?? message.url
        let next = following(message, to: url, status: head.status, credentialFieldNames)
        return .success(Proposal(message: next, obstacle: obstacle(to: target == nil ? nil : url)))
    }

    private static func obstacle(to url: URL?) -> TransferFailure? {
        guard let url else {
            return .exchange(.redirectToNonExistentLocation, detail: "the redirect's Location is no URL", engineCode: 0)
        }
        guard url.scheme != "http", url.scheme != "https" else { return nil }
        let scheme = url.scheme.map { "the scheme \($0)" } ?? "no scheme"
        return .exchange(.unsupportedURL, detail: "a redirect leads to \(scheme), which is not HTTP", engineCode: 0)
    }

    /// Returns the proposal of a redirect to a whole `URLRequest`, as a `URLProtocol` gives it; a failure after too
    /// many redirects, or when the request cannot be sent.
    ///
    /// When the request's scheme is not HTTP, the proposal has that request and an obstacle: only a redirect handler
    /// sees it.
    static func next(
        after message: OutgoingMessage, to request: URLRequest, limit: Int, credentialFieldNames: [String],
        settings: SessionSettings
    ) -> Result<Proposal, TransferFailure> {
        guard message.redirectCount < limit else { return .failure(tooManyRedirects(limit)) }
        let target = request.url.map { message.webSocket == nil ? $0.withLowercasedScheme : WebSocketURL.onTheWire($0) }
        if let obstacle = obstacle(to: target) {
            var proposed = message
            proposed.url = request.url ?? message.url
            proposed.urlRequest = request
            proposed.redirectCount += 1
            return .success(Proposal(message: proposed, obstacle: obstacle))
        }
        do {
            var next = try self.message(
                for: request, replacing: message, credentialFieldNames: credentialFieldNames, settings: settings)
            next.redirectCount += 1
            return .success(Proposal(message: next))
        } catch {
            return .failure(.exchange(.badURL, detail: "the redirect's request cannot be sent", engineCode: 0))
        }
    }

    private static func tooManyRedirects(_ limit: Int) -> TransferFailure {
        .exchange(.httpTooManyRedirects, detail: "more than \(limit) redirects", engineCode: 0)
    }

    private static func following(
        _ message: OutgoingMessage, to url: URL, status: Int, _ credentialFieldNames: [String]
    ) -> OutgoingMessage {
        let method = RedirectRules.method(after: message.method, status: status)
        let crossesOrigin = !RedirectRules.isSameOrigin(message.url, url)
        let dropsContent = method != message.method
        var next = message
        next.url = url
        next.method = method
        next.redirectCount += 1
        next.fields = RedirectRules.fields(
            message.fields, dropping: crossesOrigin ? credentialFieldNames : nil, dropsContent: dropsContent)
        next.urlRequest = nil
        next.challenge = nil
        next.digest = nil
        if dropsContent { next.body = .none }
        if crossesOrigin { next.forgetCredentials() }
        return next
    }

    /// The public form of a message.
    static func urlRequest(of message: OutgoingMessage) -> URLRequest {
        if let request = message.urlRequest { return request }
        var request = URLRequest(url: message.url)
        request.httpMethod = message.method
        request.headers = HTTPHeaders(message.fields.fields.map { HTTPHeader(name: $0.name, value: $0.value) })
        if case .data(let data) = message.body { request.httpBody = data }
        return request
    }

    /// Whether a redirect handler's request is the proposed one.
    ///
    /// On Linux, `==` of two requests ignores header fields and content.
    static func isSame(_ request: URLRequest, _ proposed: URLRequest) -> Bool {
        request == proposed && request.allHTTPHeaderFields == proposed.allHTTPHeaderFields
            && request.httpBody == proposed.httpBody && request.httpBodyStream === proposed.httpBodyStream
    }

    /// Returns the content for a redirect handler's request: its own, if it has any.
    ///
    /// Content in memory is in the proposed request, so a request without it is sent without content. Other content,
    /// such as a file, is not in the proposed request, and is sent again.
    private static func content(of record: RequestRecord, replacing proposed: OutgoingMessage) -> MessageContent {
        if let data = record.existing?.httpBody { return .data(data) }
        if record.existing?.httpBodyStream != nil { return record.body }
        if case .data = proposed.body { return .none }
        return hasBecomeBodyless(record.method, after: proposed) ? .none : proposed.body
    }

    /// Whether a handler has changed the method to one that has no content.
    private static func hasBecomeBodyless(_ method: String?, after proposed: OutgoingMessage) -> Bool {
        ["GET", "HEAD"].contains(method) && method != proposed.method
    }

    /// Makes the message for the request that a redirect handler has chosen instead of `proposed`.
    ///
    /// The handler's request is sent as it is. A request with none of the session's fields was not derived from
    /// `proposed`: it gets the session's fields that it does not set itself, except the fields in
    /// `credentialFieldNames`. Throws when the request cannot be sent.
    static func message(
        for request: URLRequest, replacing proposed: OutgoingMessage, credentialFieldNames: [String],
        settings: SessionSettings
    ) throws -> OutgoingMessage {
        var request = request
        if hasBecomeBodyless(request.httpMethod, after: proposed), case .data(let data) = proposed.body,
            request.httpBody == data
        {
            request.httpBody = nil
        }
        let record = try RequestRecord(request)
        let schemes = proposed.webSocket == nil ? RequestRecord.schemes : WebSocketURL.schemes
        guard record.hasScheme(of: schemes) else { throw URLError(.unsupportedURL) }
        try record.validate(schemes: schemes)
        let isSame = RedirectRules.isSameOrigin(record.url, proposed.url)
        var next = proposed
        next.url = proposed.webSocket == nil ? record.url.withLowercasedScheme : WebSocketURL.onTheWire(record.url)
        next.method = record.method
        let headers = request.headers
        let isMadeAnew = settings.fields.fields.allSatisfy { field in
            headers[field.name] != field.value || proposed.fields.value(of: field.name) != field.value
        }
        let shared =
            isMadeAnew
            ? RedirectRules.fields(settings.fields, dropping: credentialFieldNames, dropsContent: false).fields : []
        // A `Host` field copied from the proposed request is dropped for another origin.
        let own = headers.filter { field in
            isSame || !field.name.isEqualIgnoringASCIICase("Host") || field.value != proposed.fields.value(of: "Host")
        }
        let names = HTTPHeaders(Array(own))
        next.fields = FieldBlock(
            shared.filter { names[$0.name] == nil } + own.map { Field(name: $0.name, value: $0.value) })
        next.body = content(of: record, replacing: proposed)
        next.urlRequest = request
        next.challenge = nil
        next.digest = nil
        if !isSame { next.forgetCredentials() }
        return next
    }
}
