// Sessions that stubs answer.

public import Fireweed
import Foundation
public import FoundationNetworking

extension Session {
    /// A session whose requests are answered by stubs, without a server.
    ///
    /// ```swift
    /// let session = Session.stubbed {
    ///     Stub.get("/users/{id}").reply(.json(["id": 42, "name": "Ada"]))
    /// }
    /// let user = try await session.request("https://api.example.com/users/42").serializingDecodable(User.self).value
    /// try session.stubs.expectAllCalled()
    /// ```
    ///
    /// Cookies, credentials and stored responses stay in the memory of this session, whatever the configuration says. A
    /// configuration without a cookie storage or without a cache gives a session without it. No notifications are
    /// posted unless `eventMonitors` has an `AlamofireNotifications`. Tests that run at the same time therefore share
    /// nothing.
    ///
    /// - Parameters:
    ///   - configuration: header fields, time-outs and cache policy; its storages are replaced, and a storage that is
    ///     `nil` stays `nil`.
    ///   - clock: the session's clock; a ``TestClock`` advances when the test says so.
    ///   - interceptor: adapts and retries every request.
    ///   - serverTrustManager: accepted but never used, since there is no TLS.
    ///   - redirectHandler: decides about redirects; `nil`, the default, follows them.
    ///   - cachedResponseHandler: decides what is stored in the session's cache.
    ///   - eventMonitors: are notified of every event; none by default.
    ///   - startRequestsImmediately: whether the first response handler resumes a request; true by default.
    ///   - stubs: the stubs; the first one that matches answers.
    /// - Returns: a session on a ``StubTransport``; `stubs` gives its stubs.
    public static func stubbed(
        configuration: URLSessionConfiguration = URLSessionConfiguration.af.ephemeral,
        clock: any SessionClock = SystemClock(), interceptor: (any RequestInterceptor)? = nil,
        serverTrustManager: ServerTrustManager? = nil, redirectHandler: (any RedirectHandler)? = nil,
        cachedResponseHandler: (any CachedResponseHandler)? = nil,
        eventMonitors: [any EventMonitor] = [],
        startRequestsImmediately: Bool = true, @StubsBuilder _ stubs: () -> [Stub]
    ) -> Session {
        Session(
            transport: StubTransport(stubs: Stubs(stubs()), clock: clock),
            configuration: isolated(configuration), startRequestsImmediately: startRequestsImmediately,
            interceptor: interceptor, serverTrustManager: serverTrustManager,
            redirectHandler: redirectHandler,
            cachedResponseHandler: cachedResponseHandler, eventMonitors: eventMonitors)
    }

    /// The stubs of a session that `stubbed` made, or that has a ``StubTransport`` or a ``RecordingTransport``.
    ///
    /// - Precondition: the session's transport is one of these.
    public var stubs: Stubs {
        switch transport {
        case let transport as StubTransport: transport.stubs
        case let transport as RecordingTransport: transport.stubs
        default:
            preconditionFailure("this session has no stubs: make it by Session.stubbed, or with a StubTransport")
        }
    }

    /// Returns a copy of the configuration with a new cookie storage and cache, if it has any, and no credential
    /// storage.
    static func isolated(_ configuration: URLSessionConfiguration) -> URLSessionConfiguration {
        let isolated = configuration.copy() as? URLSessionConfiguration ?? configuration
        let own = URLSessionConfiguration.ephemeral
        if isolated.httpCookieStorage != nil { isolated.httpCookieStorage = own.httpCookieStorage }
        if isolated.urlCache != nil { isolated.urlCache = own.urlCache }
        isolated.urlCredentialStorage = nil
        return isolated
    }
}
