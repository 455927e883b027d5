// The parts of a form while it is encoded.

import Foundation

/// The storage of one node while it is encoded.
///
/// A storage holds an object, an array or one value. Encoding a second kind into the same storage is a fault, so that
/// no value is lost silently.
final class FormStorage {
    private enum Content {
        case none
        case leaf(FormNode)
        case object(Members)
        case array([FormStorage])
    }

    /// Members in the order in which they were encoded first.
    private struct Members {
        var list: [(String, FormStorage)] = []
        var indices: [String: Int] = [:]
    }

    let faults: FormFaults
    private let level: Int
    private var content = Content.none

    init(_ faults: FormFaults, level: Int = 0) {
        self.faults = faults
        self.level = level
    }

    var node: FormNode {
        switch content {
        case .none: .object([])  // a value that encodes nothing, as an empty struct does
        case .leaf(let node): node
        case .object(let members): .object(members.list.map { ($0.0, $0.1.node) })
        case .array(let elements): .array(elements.map(\.node))
        }
    }

    var isArray: Bool {
        if case .array = content { true } else { false }
    }

    var elementCount: Int {
        if case .array(let elements) = content { elements.count } else { 0 }
    }

    func set(_ node: FormNode) -> FormFaults.Fault? {
        switch content {
        case .none, .leaf: content = .leaf(node)
        case .object, .array: return .twoKinds
        }
        return nil
    }

    func becomeObject() -> FormFaults.Fault? {
        switch content {
        case .none: content = .object(Members())
        case .object: break
        case .leaf, .array: return .twoKinds
        }
        return nil
    }

    func becomeArray() -> FormFaults.Fault? {
        switch content {
        case .none: content = .array([])
        case .array: break
        case .leaf, .object: return .twoKinds
        }
        return nil
    }

    /// Returns a new storage for a member; a value that is encoded a second time for a key replaces the first value.
    func member(_ key: String) -> FormStorage {
        guard isShallow, case .object(var members) = content else { return child() }
        content = .none  // so that the list is not copied
        defer { content = .object(members) }
        let child = child()
        if let index = members.indices[key] {
            members.list[index].1 = child
        } else {
            members.indices[key] = members.list.count
            members.list.append((key, child))
        }
        return child
    }

    /// Returns the member's existing storage, or a new one: a second container for a key adds to the first container.
    func openMember(_ key: String) -> FormStorage {
        if case .object(let members) = content, let index = members.indices[key] { return members.list[index].1 }
        return member(key)
    }

    func element() -> FormStorage {
        guard isShallow, case .array(var elements) = content else { return child() }
        content = .none
        defer { content = .array(elements) }
        let child = child()
        elements.append(child)
        return child
    }

    /// Whether the tree may grow: a tree that is too deep overflows the stack when it is written or released.
    private var isShallow: Bool { level <= FormFaults.deepestLevel }

    /// Returns a new storage; below the deepest level, the caller does not add the storage to the tree.
    private func child() -> FormStorage {
        if !isShallow { faults.note(.depth, at: []) }
        return FormStorage(faults, level: level + 1)
    }
}

/// The first reason why a value cannot be written as a form.
final class FormFaults {
    enum Fault {
        /// Containers of two kinds, or a container and a value, for one key.
        case twoKinds
        /// A value below the deepest level.
        case depth
    }

    /// The deepest level of a member: more levels overflow the stack of a thread.
    static let deepestLevel = 500

    private(set) var first: EncodingError.Context?

    func note(_ fault: Fault, at path: [any CodingKey]) {
        first = first ?? Self.context(of: fault, at: path)
    }

    static func context(of fault: Fault, at path: [any CodingKey]) -> EncodingError.Context {
        switch fault {
        case .twoKinds:
            EncodingError.Context(
                codingPath: path,
                debugDescription: "containers of two kinds, or a container and a value, are encoded for one key")
        case .depth:
            EncodingError.Context(
                codingPath: [], debugDescription: "the value is nested more than \(deepestLevel) levels deep")
        }
    }
}
