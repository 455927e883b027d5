// The `af` namespace.

import Foundation
public import FoundationNetworking

/// Wraps a type whose members of ours stand behind `af`.
public struct AlamofireExtension<ExtendedType> {
    /// The wrapped value.
    public private(set) var type: ExtendedType

    /// Wraps a value.
    public init(_ type: ExtendedType) {
        self.type = type
    }
}

/// Has members behind `af`.
public protocol AlamofireExtended {
    /// The type that has them.
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
    /// `.default` with the default header fields.
    public static var `default`: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        configuration.headers = .default
        return configuration
    }

    /// `.ephemeral` with the default header fields.
    public static var ephemeral: URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.headers = .default
        return configuration
    }
}
