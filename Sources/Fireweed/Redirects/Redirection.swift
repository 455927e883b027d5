// From a redirect's response to the next hop.

import FireweedTransport
import Foundation
import FoundationNetworking

/// Makes the hop that follows a redirect.
enum Redirection {
    /// The next hop; a failure when it may not be followed; `nil` when the response is no redirect.
    ///
    /// - Parameters:
    ///   - limit: how many redirects are followed.
    ///   - credentialFieldNames: the fields that another origin does not get.
    static func next(
        after hop: Hop, head: ResponseHead, limit: Int, credentialFieldNames: [String]
    ) -> Result<Hop, TransferFailure>? {
        guard RedirectRules.statuses.contains(head.status), let location = head.values(of: "Location").first else {
            return nil
        }
        guard hop.redirectCount < limit else { return .failure(tooManyRedirects(limit)) }
        guard let target = RedirectRules.target(of: location, from: hop.url) else {
            return .failure(
                .exchange(.redirectToNonExistentLocation, detail: "the redirect's Location is no URL", engineCode: 0))
        }
        let url = hop.webSocket == nil ? target : WebSocketURL.onTheWire(target)
        guard url.scheme == "http" || url.scheme == "https" else {
            return .failure(
                .exchange(.unsupportedURL, detail: "a redirect to \(url.scheme ?? "no scheme")", engineCode: 0))
        }
        return .success(following(hop, to: url, status: head.status, credentialFieldNames))
    }

    /// The next hop after a redirect that names a whole request; a failure when it may not be followed.
    static func next(
        after hop: Hop, to request: URLRequest, limit: Int, settings: SessionSettings
    ) -> Result<Hop, TransferFailure> {
        guard hop.redirectCount < limit else { return .failure(tooManyRedirects(limit)) }
        do {
            var next = try self.hop(for: request, replacing: hop, settings: settings)
            next.redirectCount += 1
            return .success(next)
        } catch {
            return .failure(.exchange(.badURL, detail: "the redirect's request cannot be sent", engineCode: 0))
        }
    }

    private static func tooManyRedirects(_ limit: Int) -> TransferFailure {
        .exchange(.httpTooManyRedirects, detail: "more than \(limit) redirects", engineCode: 0)
    }

    private static func following(_ hop: Hop, to url: URL, status: Int, _ credentialFieldNames: [String]) -> Hop {
        let method = RedirectRules.method(after: hop.method, status: status)
        let crossesOrigin = !RedirectRules.isSameOrigin(hop.url, url)
        let dropsContent = method != hop.method
        var next = hop
        next.url = url
        next.method = method
        next.redirectCount += 1
        next.fields = RedirectRules.fields(
            hop.fields, dropping: crossesOrigin ? credentialFieldNames : nil, dropsContent: dropsContent)
        next.urlRequest = nil
        next.challenge = nil
        next.digest = nil
        if dropsContent { next.body = .none }
        if crossesOrigin { next.forgetCredentials() }
        return next
    }

    /// A hop as users see it.
    static func urlRequest(of hop: Hop) -> URLRequest {
        if let request = hop.urlRequest { return request }
        var request = URLRequest(url: hop.url)
        request.httpMethod = hop.method
        request.headers = HTTPHeaders(hop.fields.fields.map { HTTPHeader(name: $0.name, value: $0.value) })
        if case .data(let data) = hop.body { request.httpBody = data }
        return request
    }

    /// The hop that a redirect handler asked for in the place of `proposed`.
    ///
    /// What the handler put into its request goes out; fields of the session come below it, without those that belong to one origin.
    /// Throws when its request cannot be sent.
    static func hop(for request: URLRequest, replacing proposed: Hop, settings: SessionSettings) throws -> Hop {
        let record = try RequestRecord(request)
        let schemes = proposed.webSocket == nil ? RequestRecord.schemes : WebSocketURL.schemes
        guard record.hasScheme(of: schemes) else { throw URLError(.unsupportedURL) }
        try record.validate(schemes: schemes)
        let body: BodySource =
            request.httpBody.map { .data($0) } ?? (record.method == proposed.method ? proposed.body : .none)
        let isSame = RedirectRules.isSameOrigin(record.url, proposed.url)
        var next = proposed
        next.url = proposed.webSocket == nil ? record.url.withLowercasedScheme : WebSocketURL.onTheWire(record.url)
        next.method = record.method
        let shared = RedirectRules.fields(
            settings.fields, dropping: settings.credentialFieldNames, dropsContent: false
        ).fields
        let own = request.headers
        next.fields = FieldBlock(
            shared.filter { own[$0.name] == nil } + own.map { Field(name: $0.name, value: $0.value) })
        next.body = body
        next.urlRequest = request
        next.challenge = nil
        next.digest = nil
        if !isSame { next.forgetCredentials() }
        return next
    }
}
