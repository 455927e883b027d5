// The typed values that travel with a request.

/// The key of a value that travels with a request, and the type of that value.
///
/// ```swift
/// enum TenantKey: RequestValueKey { typealias Value = String }
/// session.request(url).value("acme", for: TenantKey.self)
/// ```
public protocol RequestValueKey {
    /// The type of the value.
    associatedtype Value: Sendable
}

/// Values of a request for its monitors and for the code that moves its messages; they are never sent.
public struct RequestValues: Sendable {
    @usableFromInline var storage: [ObjectIdentifier: any Sendable] = [:]

    /// Fills values with what a caller's context has, such as task-locals; called on the caller's thread, and in its
    /// task.
    public typealias Capture = @Sendable (_ values: inout RequestValues) -> Void

    /// Makes an empty set of values; allocates no memory.
    public init() {}

    /// Whether there is no value.
    public var isEmpty: Bool { storage.isEmpty }

    /// The value of a key; `nil` when there is none, and setting `nil` removes the value.
    @inlinable public subscript<Key: RequestValueKey>(key: Key.Type) -> Key.Value? {
        get {
            // A cast of `nil` would cost as much as one of a value.
            guard let value = storage[ObjectIdentifier(key)] else { return nil }
            return value as? Key.Value
        }
        set {
            if newValue == nil, storage.isEmpty { return }
            storage[ObjectIdentifier(key)] = newValue.map { $0 as any Sendable }
        }
    }

    /// Adds values, which replace those of the same keys.
    package mutating func merge(_ other: RequestValues) {
        guard !storage.isEmpty else { return self = other }
        guard !other.storage.isEmpty else { return }
        storage.merge(other.storage) { $1 }
    }
}
