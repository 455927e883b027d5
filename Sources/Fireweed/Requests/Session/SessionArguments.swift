// Arguments of a session's initialisers.

import Dispatch
import Foundation
import FoundationNetworking

/// The arguments of a session's initialisers, except its configuration and its transport.
struct SessionArguments: Sendable {
    var delegate: SessionDelegate
    var rootQueue: DispatchQueue
    var startRequestsImmediately: Bool
    var requestSetup: Session.RequestSetup
    /// The queue on which requests are made; `nil` makes them on the thread that resumes them.
    var requestQueue: DispatchQueue?
    /// The queue on which serialisers run; `nil` lets the session make one.
    var serializationQueue: DispatchQueue?
    var interceptor: (any RequestInterceptor)?
    var serverTrustManager: ServerTrustManager?
    var redirectHandler: (any RedirectHandler)?
    var cachedResponseHandler: (any CachedResponseHandler)?
    var eventMonitors: [any EventMonitor]
    var options = SessionOptions()
    /// Foundation's session that monitors get; `nil` makes one from the configuration when it is first needed.
    var shownSession: URLSession?
}
