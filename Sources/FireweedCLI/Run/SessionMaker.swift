// The session that an invocation asks for.

import Fireweed
import Foundation

/// Makes sessions.
enum SessionMaker {
    /// A session with the options of the invocation; throws `UsageError`.
    static func session(for invocation: Invocation, plan: RequestPlan) throws -> Session {
        let configuration = URLSessionConfiguration.af.ephemeral
        configuration.timeoutIntervalForRequest = plan.timeout ?? invocation.timeout
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
        if let version = invocation.minimumTLSVersion { options.minimumTLSVersion = version }
        options.clientIdentity = try IdentityMaker.identity(for: invocation)
        return Session(
            configuration: configuration, startRequestsImmediately: !invocation.printsCURL,
            requestSetup: invocation.printsCURL ? .eager : .lazy,
            serverTrustManager: try CommandTrust.manager(for: invocation),
            redirectHandler: invocation.followsRedirects ? nil : .doNotFollow, eventMonitors: [],
            transportOptions: options)
    }
}
