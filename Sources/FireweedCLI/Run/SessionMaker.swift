// The session that an invocation asks for.

import Fireweed
import Foundation

/// Makes sessions.
enum SessionMaker {
    /// A session, and what its run leaves behind.
    struct Made {
        let session: Session
        let cookies: HTTPCookieStorage?
        let recorder: HARRecorder?
    }

    /// A session with the options of the invocation and the cookies of `saved`; throws `UsageError`.
    static func session(for invocation: Invocation, plan: RequestPlan, saved: SavedSession?) throws -> Made {
        let configuration = configuration(for: invocation, plan: plan)
        saved?.restoreCookies(in: configuration.httpCookieStorage)
        let recorder = invocation.archiveFile.map { _ in HARRecorder(includesContent: true) }
        let session = Session(
            configuration: configuration, startRequestsImmediately: !invocation.printsCURL,
            requestSetup: invocation.printsCURL ? .eager : .lazy, interceptor: retryPolicy(for: invocation),
            serverTrustManager: try CommandTrust.manager(for: invocation),
            redirectHandler: redirector(for: invocation), eventMonitors: recorder.map { [$0] } ?? [],
            transportOptions: try transportOptions(for: invocation), netrc: try netrc(for: invocation),
            responseStore: invocation.usesCache ? CacheFolder.store() : nil)
        return Made(session: session, cookies: configuration.httpCookieStorage, recorder: recorder)
    }

    private static func configuration(for invocation: Invocation, plan: RequestPlan) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.timeoutIntervalForRequest = plan.timeout ?? invocation.timeout
        configuration.urlCache = nil
        configuration.headers.update(.userAgent("fireweed/\(AFInfo.version)"))
        for name in plan.removedHeaders { configuration.headers.remove(name: name) }
        return configuration
    }

    private static func transportOptions(for invocation: Invocation) throws -> TransportOptions {
        var options = TransportOptions()
        if invocation.speaksHTTP1Only { options.httpVersion = .http1Only }
        if let file = invocation.authorityFile {
            guard FileManager.default.isReadableFile(atPath: file) else {
                throw UsageError(message: "the file \(file) cannot be read")
            }
            options.certificateAuthorities = .file(URL(fileURLWithPath: file))
        }
        if let text = invocation.proxy {
            guard let proxy = Proxy(text) else { throw UsageError(message: "\"\(text)\" is no proxy") }
            options.proxy = proxy
        }
        if let version = invocation.minimumTLSVersion { options.minimumTLSVersion = version }
        options.clientIdentity = try IdentityMaker.identity(for: invocation)
        return options
    }

    private static func redirector(for invocation: Invocation) -> Redirector? {
        guard invocation.followsRedirects else { return .doNotFollow }
        return invocation.maximumRedirectCount.map { Redirector(behavior: .follow, maximumRedirectCount: $0) }
    }

    private static func netrc(for invocation: Invocation) throws -> Netrc? {
        guard invocation.usesNetrc else { return nil }
        do {
            return try Netrc.ofUser()
        } catch {
            throw UsageError(message: error.localizedDescription)
        }
    }

    /// Waits between attempts as a server asks for, up to a minute; a request that never left is sent again whatever its method.
    private static func retryPolicy(for invocation: Invocation) -> RetryPolicy? {
        guard invocation.retryCount > 0 else { return nil }
        let options = RetryOptions(
            jitter: .full, retryAfter: .obey(upTo: .seconds(60)), maximumDelay: .seconds(30), replays: .unsent)
        return RetryPolicy(
            retryLimit: invocation.retryCount, retryableHTTPStatusCodes: retriedStatuses, options: options)
    }

    /// The statuses that `--retry` tries again after.
    static let retriedStatuses = RetryPolicy.defaultRetryableHTTPStatusCodes.union([429])
}
