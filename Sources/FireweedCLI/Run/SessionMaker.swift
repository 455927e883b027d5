// The session that an invocation asks for.

import Fireweed
import Foundation

/// Makes sessions.
enum SessionMaker {
    /// A session with the options of the invocation; throws `UsageError`.
    static func session(for invocation: Invocation, plan: RequestPlan) throws -> Session {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.timeoutIntervalForRequest = invocation.timeout
        configuration.urlCache = nil
        configuration.headers.update(.userAgent("fireweed/\(AFInfo.version)"))
        for name in plan.removedHeaders { configuration.headers.remove(name: name) }
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
        let trust = invocation.isInsecure ? plan.url.host.map { _ in AnyHostManager() } : nil
        return Session(
            configuration: configuration, serverTrustManager: trust,
            redirectHandler: invocation.followsRedirects ? nil : .doNotFollow, eventMonitors: [],
            transportOptions: options, responseStore: invocation.usesCache ? CacheFolder.store() : nil)
    }

    /// Trusts every host, the targets of redirects too.
    private final class AnyHostManager: ServerTrustManager, @unchecked Sendable {
        init() {
            super.init(allHostsMustBeEvaluated: true, evaluators: [:])
        }

        override func serverTrustEvaluator(forHost host: String) throws -> (any ServerTrustEvaluating)? {
            DisabledTrustEvaluator()
        }
    }
}
