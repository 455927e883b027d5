// The session that an invocation asks for.

import CommandLanguage
import Fireweed
import Foundation
import Glibc

/// Makes sessions.
enum SessionMaker {
    /// A session, and the objects whose contents are written after the run.
    struct Made {
        let session: Session
        let cookies: HTTPCookieStorage?
        let recorder: HARRecorder?
        /// The policy of `--retry`; `nil` without retries.
        fileprivate let retryPolicy: NotingRetryPolicy?

        /// The verdict on a response: a failure when its request is tried again for its status.
        func validation(of request: Request?) -> Request.ValidationResult {
            guard let request, let retryPolicy, retryPolicy.isRetried(request, for: session) else {
                return .success(())
            }
            return .failure(NotingRetryPolicy.RetriedStatus())
        }
    }

    /// Makes a session with the options of the invocation and the cookies of `saved`; throws `UsageError`.
    ///
    /// `sharedCache` is used instead of the user's cache.
    static func session(
        for invocation: Invocation, plan: RequestPlan, saved: SavedSession?, observer: WireRecorder? = nil,
        interceptors: [any RequestInterceptor] = [], sharedCache: (any AsyncResponseStore)? = nil
    ) throws -> Made {
        let configuration = configuration(for: invocation, plan: plan)
        saved?.restoreCookies(in: configuration.httpCookieStorage)
        try invocation.curl?.prepareCookies(of: configuration, for: plan.url, isKept: saved != nil)
        var options = SessionOptions(
            netrc: try netrc(for: invocation),
            responseStore: invocation.usesCache && sharedCache == nil ? CacheFolder.store() : nil,
            asyncResponseStore: sharedCache)
        options.cookiesFollowFields = invocation.curl != nil
        let retryPolicy = retryPolicy(for: invocation, plan: plan, observer)
        let recorder = invocation.archiveFile.map { _ in HARRecorder(includesContent: true) }
        let session = Session(
            configuration: configuration, startRequestsImmediately: !invocation.printsCURL,
            requestSetup: invocation.printsCURL ? .eager : .lazy,
            interceptor: interceptor(for: invocation, retryPolicy, with: interceptors),
            serverTrustManager: try CommandTrust.manager(for: invocation),
            redirectHandler: redirector(for: invocation, plan, saved), eventMonitors: recorder.map { [$0] } ?? [],
            transportOptions: try transportOptions(for: invocation, plan: plan, observer: observer),
            options: options)
        return Made(
            session: session, cookies: configuration.httpCookieStorage, recorder: recorder, retryPolicy: retryPolicy)
    }

    /// Returns the interceptor; `nil` if no option needs one: without an interceptor, the session makes no
    /// `URLRequest`.
    private static func interceptor(
        for invocation: Invocation, _ retryPolicy: RetryPolicy?, with others: [any RequestInterceptor]
    ) -> Interceptor? {
        guard invocation.compresses || retryPolicy != nil || !others.isEmpty else { return nil }
        return Interceptor(
            adapters: invocation.compresses ? [DeflateRequestCompressor(duplicateHeaderBehavior: .skip)] : [],
            retriers: retryPolicy.map { [$0] } ?? [], interceptors: others)
    }

    private static func configuration(for invocation: Invocation, plan: RequestPlan) -> URLSessionConfiguration {
        // Without this, the first configuration makes Foundation create the shared cache, with a folder.
        URLCache.shared = URLCache(memoryCapacity: 0, diskCapacity: 0, diskPath: "/dev/null")
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = invocation.timeout ?? 0
        if let seconds = invocation.maximumTime {
            configuration.timeoutIntervalForResource = max(0.001, seconds - invocation.secondsBeforeSending)
        }
        configuration.urlCache = nil
        if invocation.parallelCount > 1 { configuration.httpMaximumConnectionsPerHost = invocation.parallelCount }
        // The default fields are not used: they look up the program's name in its bundle, which takes a millisecond.
        configuration.headers = [.defaultAcceptEncoding, .userAgent("fireweed/\(AFInfo.version)")]
        for name in plan.removedHeaders { configuration.headers.remove(name: name) }
        return configuration
    }

    private static func transportOptions(
        for invocation: Invocation, plan: RequestPlan, observer: WireRecorder?
    ) throws -> TransportOptions {
        var options = TransportOptions()
        options.wireObserver = observer
        options.fieldWriting = plan.fieldWriting
        // Content for a file stays coded, except with `--cache`: it may come from a response that is stored decoded.
        options.decodesContent = invocation.asksForCodings || invocation.usesCache
        options.httpVersion = invocation.httpVersion
        options.connectTimeout = invocation.connectTimeout.map { .seconds($0) }
        if let count = invocation.maximumFieldCount {
            options.maximumHeaderFieldCount = count
            options.maximumHeaderByteCount = max(options.maximumHeaderByteCount, count * 300)
        }
        if let ratio = invocation.maximumExpansion { options.maximumExpansionRatio = ratio == .max ? nil : ratio }
        options.maximumBodyByteCount = invocation.maximumContentLength
        options.unixSocketPath = invocation.unixSocket
        options.connectionRoutes = invocation.routes
        options.ipVersion = invocation.ipVersion
        options.networkInterface = invocation.networkInterface
        options.maximumReceivedBytesPerSecond = invocation.rateLimit
        options.maximumSentBytesPerSecond = invocation.rateLimit
        for rule in invocation.addresses {
            if rule.host == "*" {
                // `*` stands for every host without its own rule.
                let route = ConnectionRoute(port: rule.port, targetHost: rule.addresses.first)
                options.connectionRoutes.append(route)
            } else if let port = rule.port, port != plan.url.effectivePort {
                // Address overrides have no ports, so a rule for another port (of a redirect or another URL) becomes a
                // route.
                options.connectionRoutes.append(
                    ConnectionRoute(host: rule.host, port: port, targetHost: rule.addresses.first))
            } else {
                options.addressOverrides[rule.host, default: []] += rule.addresses
            }
        }
        try applyProxies(invocation, to: &options)
        try applyTLS(invocation, to: &options)
        return options
    }

    private static func applyProxies(_ invocation: Invocation, to options: inout TransportOptions) throws {
        // Proxies for one scheme become proxy variables: the transport chooses among them by a message's scheme.
        for (scheme, url) in invocation.schemeProxies { options.proxyVariables["\(scheme)_proxy"] = url }
        options.tunnelsByVariables = invocation.alwaysTunnels
        options.authenticationByVariables = invocation.proxyAuthentication
        if invocation.bypassesNothing { for name in ["no_proxy", "NO_PROXY"] { options.proxyVariables[name] = "" } }
        if let text = invocation.proxy {
            guard var proxy = Proxy(text) else { throw UsageError(message: "the text of --proxy is not a proxy's URL") }
            proxy.bypassedHosts = invocation.bypassedHosts
            proxy.alwaysTunnels = invocation.alwaysTunnels
            if let schemes = invocation.proxyAuthentication { proxy.authentication = schemes }
            options.proxy = proxy
        } else if invocation.bypassedHosts == ["*"] {
            options.proxy = Proxy.none
        } else if !invocation.bypassedHosts.isEmpty {
            options.proxyVariables["no_proxy"] = invocation.bypassedHosts.joined(separator: ",")
        }
    }

    /// Applies the options of TLS, except those of `CommandTrust`.
    static func applyTLS(_ invocation: Invocation, to options: inout TransportOptions) throws {
        let hasEnvironment = invocation.curl != nil && !invocation.isInsecure
        let ofEnvironment = hasEnvironment ? getenv("CURL_CA_BUNDLE").map { String(cString: $0) } : nil
        if let file = invocation.authorityFile ?? ofEnvironment, !file.isEmpty {
            _ = try LocalFile.isRegular(file)
            options.certificateAuthorities = .file(URL(fileURLWithPath: file))
        }
        if let version = invocation.minimumTLSVersion { options.minimumTLSVersion = version }
        options.maximumTLSVersion = invocation.maximumTLSVersion
        if let newest = options.maximumTLSVersion, newest < options.minimumTLSVersion {
            options.minimumTLSVersion = newest
        }
        let ciphers = (invocation.ciphers ?? "").split(separator: ":").map(String.init)
        let suites = ciphers.filter { $0.hasPrefix("TLS_") }
        if !suites.isEmpty { options.cipherSuites = suites.joined(separator: ":") }
        if suites.count < ciphers.count {
            options.cipherList = ciphers.filter { !$0.hasPrefix("TLS_") }.joined(separator: ":")
        }
        options.clientIdentity = try IdentityMaker.identity(for: invocation)
    }

    private static func redirector(
        for invocation: Invocation, _ plan: RequestPlan, _ saved: SavedSession?
    ) -> Redirector? {
        guard invocation.followsRedirects else { return .doNotFollow }
        let count = invocation.maximumRedirectCount
        let (allowed, transfer) = (invocation.allowedSchemes, invocation.curl)
        // Fields of a saved session are only for their origin, so a redirect to another origin removes them.
        let typed = Set(plan.lines.map { $0.name.lowercased() })
        let kept = Set((saved?.fields ?? []).map { $0.name.lowercased() }).subtracting(typed)
        guard allowed != nil || transfer != nil || !kept.isEmpty else {
            return count.map { Redirector(behavior: .follow, maximumRedirectCount: $0) }
        }
        let first = CURLTransfer.FirstMessage(plan, invocation)
        let behavior = Redirector.Behavior.modify { _, request, response in
            guard allowed?.contains(request.url?.scheme?.lowercased() ?? "") ?? true else { return nil }
            // To curl, a response with an empty Location is no redirect.
            if transfer != nil, response.value(forHTTPHeaderField: "Location")?.isEmpty == true { return nil }
            var request = request
            if let from = response.url, let to = request.url,
                SavedSession.origin(of: from) != SavedSession.origin(of: to)
            {
                for name in kept { request.headers.remove(name: name) }
            }
            return transfer?.redirected(request, from: response, first) ?? request
        }
        return Redirector(behavior: behavior, maximumRedirectCount: count)
    }

    private static func netrc(for invocation: Invocation) throws -> Netrc? {
        if let netrc = invocation.curl?.netrc { return try netrc.read() }
        guard invocation.usesNetrc else { return nil }
        do {
            return try Netrc.ofUser()
        } catch {
            throw UsageError(message: error.plainText)
        }
    }

    /// Makes the policy of `--retry`: it waits as a server asks, up to a limit, and retries a request that was never
    /// sent, whatever the method.
    private static func retryPolicy(
        for invocation: Invocation, plan: RequestPlan, _ recorder: WireRecorder?
    ) -> NotingRetryPolicy? {
        guard invocation.retryCount > 0 else { return nil }
        // A longer --retry-delay allows as long a wait; curl waits for as long as the server asks.
        let longest = invocation.retriesAsCURL ? 1e9 : max(60, invocation.retryDelay ?? 0)
        // curl waits for 1, 2, 4 seconds and so on, and for 10 minutes at most.
        let options = RetryOptions(
            jitter: invocation.retriesAsCURL ? .none : .full, retryAfter: .obey(upTo: .seconds(longest)),
            maximumDelay: .seconds(invocation.retriesAsCURL ? 600 : 30),
            deadline: invocation.maximumRetryTime.map { .seconds($0) }, replays: .unsent)
        let every: Set<HTTPMethod> = [.post, .patch, HTTPMethod(rawValue: invocation.curl?.method ?? "GET")]
        return NotingRetryPolicy(
            limit: invocation.retryCount,
            methods: RetryPolicy.defaultRetryableHTTPMethods.union(invocation.retriesAsCURL ? every : []),
            statuses: retriedStatuses, delay: invocation.retryDelay,
            scale: invocation.retriesAsCURL ? 1 : RetryPolicy.defaultExponentialBackoffScale,
            isQuiet: invocation.isQuiet || invocation.curl?.isSilent == true,
            isSilent: invocation.curl.map { $0.isSilent && !$0.showsErrors } ?? false,
            isReadOnce: isReadOnce(plan.content, invocation), recorder: recorder, options: options)
    }

    private static func isReadOnce(_ content: RequestPlan.Content, _ invocation: Invocation) -> Bool {
        switch content {
        case .none, .data, .multipart: false
        case .file: invocation.compresses
        case .input, .stream: true
        }
    }

    /// The statuses after which `--retry` makes another attempt.
    private static let retriedStatuses = RetryPolicy.defaultRetryableHTTPStatusCodes.union([429])
}

extension URL {
    /// The port, or the default port of the scheme.
    var effectivePort: Int { port ?? (["https", "wss"].contains(scheme?.lowercased()) ? 443 : 80) }
}
