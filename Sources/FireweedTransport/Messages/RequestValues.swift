// Typed values that accompany a request.

/// The key of a value that accompanies a request, with the value's type.
///
/// ```swift
/// enum TenantKey: RequestValueKey { typealias Value = String }
/// session.request(url).value("acme", for: TenantKey.self)
/// ```
public protocol RequestValueKey {
    /// The type of the value.
    associatedtype Value: Sendable
}

/// Values of a request, for monitors and for transports; they are never sent.
public struct RequestValues: Sendable {
    @usableFromInline var storage: [ObjectIdentifier: any Sendable] = [:]

    /// Adds values from the caller's context, such as task-locals; called on the caller's thread, in the caller's task.
    public typealias Capture = @Sendable (_ values: inout RequestValues) -> Void

    /// Makes an empty set of values; allocates no memory.
    public init() {}

    /// Whether there are no values.
    public var isEmpty: Bool { storage.isEmpty }

    /// The value for a key; `nil` if there is none, and setting `nil` removes the value.
    @inlinable public subscript<Key: RequestValueKey>(key: Key.Type) -> Key.Value? {
        get {
            // This check avoids a cast of `nil`, which costs as much as a cast of a value.
            guard let value = storage[ObjectIdentifier(key)] else { return nil }
            return value as? Key.Value
        }
        set {
            if newValue == nil, storage.isEmpty { return }
            storage[ObjectIdentifier(key)] = newValue.map { $0 as any Sendable }
        }
    }

    /// Adds values; they replace existing values for the same keys.
    package mutating func merge(_ other: RequestValues) {
        guard !storage.isEmpty else { return self = other }
        guard !other.storage.isEmpty else { return }
        storage.merge(other.storage) { $1 }
    }
}
