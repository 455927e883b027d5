// The `af` namespace.

import Foundation
public import FoundationNetworking

/// Wraps a value or a type; its members are what this library offers under `value.af`.
public struct AlamofireExtension<ExtendedType> {
    /// The wrapped value.
    public private(set) var type: ExtendedType

    /// Wraps a value.
    public init(_ type: ExtendedType) {
        self.type = type
    }
}

/// A type with members under `af`.
public protocol AlamofireExtended {
    /// The extended type.
    associatedtype ExtendedType
    /// The static members.
    static var af: AlamofireExtension<ExtendedType>.Type { get set }
    /// The instance members.
    var af: AlamofireExtension<ExtendedType> { get set }
}

extension AlamofireExtended {
    /// The static members.
    public static var af: AlamofireExtension<Self>.Type {
        get { AlamofireExtension<Self>.self }
        set {}
    }

    /// The instance members.
    public var af: AlamofireExtension<Self> {
        get { AlamofireExtension(self) }
        set {}
    }
}

extension URLSessionConfiguration: AlamofireExtended {}

extension AlamofireExtension where ExtendedType: URLSessionConfiguration {
    /// `.default` with the default header fields, and with cookies and responses in memory.
    ///
    /// Sessions of the process that use this configuration share cookies and stored responses; neither is written to a
    /// disk. Foundation's own `.default` stores both in files that other users can read, and that programs share when
    /// their folders have the same name. For cookies that outlive the process use a ``CookieFile``, and for responses a
    /// ``SQLiteResponseStore``. Code that reads `HTTPCookieStorage.shared` after a login sets `httpCookieStorage =
    /// .shared`.
    public static var `default`: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        configuration.headers = .default
        configuration.httpCookieStorage = ProcessStores.shared.cookies
        configuration.urlCache = ProcessStores.shared.responses
        return configuration
    }

    /// `.ephemeral` with the default header fields.
    public static var ephemeral: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.headers = .default
        return configuration
    }
}

/// The stores that the sessions of a process share by default, in memory.
private final class ProcessStores: @unchecked Sendable {
    // SAFETY: the cookie storage and the cache synchronise themselves, and neither is replaced.
    static let shared = ProcessStores()

    let cookies: HTTPCookieStorage?
    let responses: URLCache?

    private init() {
        // An ephemeral configuration is the only way to get a cookie storage without a file, since `HTTPCookieStorage`
        // has no public initialiser.
        let configuration = URLSessionConfiguration.ephemeral
        cookies = configuration.httpCookieStorage
        responses = configuration.urlCache
    }
}
