// What a session is made with.

import Dispatch
import Foundation
import FoundationNetworking

/// The arguments of a session's initialisers, apart from its configuration and its transport.
struct SessionOptions: Sendable {
    var delegate: SessionDelegate
    var rootQueue: DispatchQueue
    var startRequestsImmediately: Bool
    var requestSetup: Session.RequestSetup
    /// Where requests are made; `nil` makes them on the thread that resumes them.
    var requestQueue: DispatchQueue?
    /// Where completion-handler forms decode; `nil` lets the session make a queue.
    var serializationQueue: DispatchQueue?
    var interceptor: (any RequestInterceptor)?
    var serverTrustManager: ServerTrustManager?
    var redirectHandler: (any RedirectHandler)?
    var cachedResponseHandler: (any CachedResponseHandler)?
    var responseStore: (any ResponseStore)?
    var eventMonitors: [any EventMonitor]
    var netrc: Netrc?
    var strictTransportSecurity: StrictTransportSecurity?
    var maximumRedirectCount: Int?
    var waitsForConnectivity: Bool?
    /// What monitors are shown; made of the configuration when somebody asks, if there is none.
    var shownSession: URLSession?
}
