// Paths into JSON values.

/// A path such as `.items[0].name`: `.name` is a member, `."a name"` a member whose name has other characters, `[0]` an
/// element, `[-1]` the last element, `[]` every element or every member's value.
package struct ValuePath: Equatable, Sendable {
    /// One step.
    package enum Component: Equatable, Sendable {
        case member(String)
        case element(Int)
        case every
    }

    package let steps: [Component]
    package let text: String

    /// Parses a path; `nil` for invalid text.
    ///
    /// The first dot may be omitted; `.` alone is the whole value.
    package init?(_ text: String) {
        self.text = text
        var steps: [Component] = []
        var rest = Array(text)[...]
        if rest == ["."] { rest = [] }
        var isFirst = true
        while let character = rest.first {
            if character == "[" {
                guard let end = rest.firstIndex(of: "]") else { return nil }
                let inner = String(rest[(rest.startIndex + 1)..<end])
                if inner.isEmpty {
                    steps.append(.every)
                } else if let index = Int(inner) {
                    steps.append(.element(index))
                } else if inner.count >= 2, inner.first == "\"", inner.last == "\"" {
                    steps.append(.member(String(inner.dropFirst().dropLast())))
                } else {
                    return nil
                }
                rest = rest[(end + 1)...]
            } else {
                if character == "." { rest.removeFirst() } else if !isFirst { return nil }
                guard let next = rest.first else { return nil }
                if next == "[" && character == "." { continue }
                guard let name = Self.name(&rest) else { return nil }
                steps.append(.member(name))
            }
            isFirst = false
        }
        self.steps = steps
    }

    private static func name(_ rest: inout ArraySlice<Character>) -> String? {
        if rest.first == "\"" {
            rest.removeFirst()
            guard let end = rest.firstIndex(of: "\"") else { return nil }
            defer { rest = rest[(end + 1)...] }
            return String(rest[..<end])
        }
        let name = rest.prefix { $0 != "." && $0 != "[" }
        rest = rest.dropFirst(name.count)
        return name.isEmpty ? nil : String(name)
    }

    /// Returns the values at the path, in order; `nil` when a member or an element of the path does not exist.
    package func values(in root: JSONNode) -> [JSONNode]? { values(in: root, skippingMissing: false) }

    /// Returns the values at the path, in order, without those members and elements that do not exist.
    package func presentValues(in root: JSONNode) -> [JSONNode] { values(in: root, skippingMissing: true) ?? [] }

    private func values(in root: JSONNode, skippingMissing: Bool) -> [JSONNode]? {
        var values = [root]
        for step in steps {
            var next: [JSONNode] = []
            for value in values {
                switch (step, value) {
                case (.member(let name), _):
                    guard let member = value.member(name) else {
                        if skippingMissing { continue }
                        return nil
                    }
                    next.append(member)
                case (.element(let index), .array(let elements)):
                    let place = index < 0 ? elements.count + index : index
                    guard elements.indices.contains(place) else {
                        if skippingMissing { continue }
                        return nil
                    }
                    next.append(elements[place])
                case (.every, .array(let elements)): next += elements
                case (.every, .object(let members)): next += members.map(\.value)
                case (.element, _), (.every, _): if !skippingMissing { return nil }
                }
            }
            values = next
        }
        return values
    }

    /// Returns the values at the path in each JSON value of a text; throws `UsageError` when the text is not JSON, or
    /// when a JSON value has nothing at the path.
    package func selected(from text: String) throws -> [JSONNode] {
        guard let roots = JSONReader.sequence(text), !roots.isEmpty else {
            throw UsageError(message: "--select: the content is not JSON")
        }
        return try roots.flatMap { root in
            guard let found = values(in: root) else {
                throw UsageError(message: "--select: there is nothing at \(self.text)")
            }
            return found
        }
    }
}

extension JSONNode {
    /// The value as a line of output: a string without its quotes and escapes, any other value as JSON.
    package var plainText: String {
        if case .string(let string) = self { return JSONEscapes.unescaped(string) }
        return text
    }
}
