// Building of a JSON value from fields.

/// Builds a JSON value field by field; the cost of a field does not depend on the number of fields.
package final class JSONBuilder {
    private let root = Branch()

    /// Makes a builder without a value.
    package init() {}

    /// The value; an empty object before the first field.
    package var value: JSONNode { root.isEmpty ? .object([]) : root.node }

    /// Sets the value at the path of a name; throws `UsageError` when the path leads through a value of another type.
    package func set(_ value: JSONNode, at name: NestedName) throws {
        var branch = root
        for (depth, part) in name.parts.enumerated() {
            switch part.step {
            case .member(let member):
                guard let child = branch.member(member) else {
                    throw Self.mismatch(branch.node, "an object", name, depth)
                }
                branch = child
            case .index, .end:
                let index: Int? = if case .index(let given) = part.step { given } else { nil }
                guard let child = branch.element(index) else {
                    throw Self.mismatch(branch.node, "an array", name, depth)
                }
                branch = child
            }
        }
        branch.become(value)
    }

    private static func mismatch(
        _ node: JSONNode, _ expected: String, _ name: NestedName, _ depth: Int
    ) -> UsageError {
        let place = depth == 0 ? "the whole" : "\"\(String(Array(name.text)[..<name.parts[depth].range.lowerBound]))\""
        return NestedName.error(
            "\(place) is \(node.typeName) already, and this needs \(expected)", name.text, name.parts[depth].range)
    }
}

/// A value in a tree that is being built.
private final class Branch {
    private enum Kind { case empty, array, object, leaf(JSONNode) }

    private var kind = Kind.empty
    private var elements: [Branch] = []
    private var members: [(name: String, value: Branch)] = []
    /// The index in `members` by name; for a duplicate name, the last index.
    private var places: [String: Int] = [:]

    init() {}

    private init(_ node: JSONNode) {
        become(node)
    }

    /// Whether no value has been set here: it is then written as `null`, and can still become an array or an object.
    var isEmpty: Bool { if case .empty = kind { true } else { false } }

    var node: JSONNode {
        switch kind {
        case .empty: .null
        case .array: .array(elements.map(\.node))
        case .object: .object(members.map { JSONNode.Member(name: $0.name, value: $0.value.node) })
        case .leaf(let node): node
        }
    }

    func become(_ node: JSONNode) {
        kind = .leaf(node)
        (elements, members, places) = ([], [], [:])
    }

    /// Returns the member with a name, created if missing; `nil` when this value is not an object.
    func member(_ name: String) -> Branch? {
        switch kind {
        case .object: break
        case .empty: kind = .object
        case .leaf(.object(let nodes)):
            kind = .object
            for node in nodes { append(JSONEscapes.unescaped(node.name), written: node.name, Branch(node.value)) }
        case .array, .leaf: return nil
        }
        if let place = places[name] { return members[place].value }
        return append(name, written: JSONEscapes.escaped(name), Branch())
    }

    @discardableResult
    private func append(_ name: String, written: String, _ value: Branch) -> Branch {
        places[name] = members.count
        members.append((written, value))
        return value
    }

    /// Returns the element at an index, created if missing, or a new last element for `nil`.
    ///
    /// Returns `nil` when this value is not an array.
    func element(_ index: Int?) -> Branch? {
        switch kind {
        case .array: break
        case .empty: kind = .array
        case .leaf(.array(let nodes)):
            kind = .array
            elements = nodes.map(Branch.init)
        case .object, .leaf: return nil
        }
        let index = index ?? elements.count
        while elements.count <= index { elements.append(Branch()) }
        // An element that was set to `null` may become an object or an array, like an element that was never set.
        if case .leaf(.null) = elements[index].kind { elements[index].kind = .empty }
        return elements[index]
    }
}
