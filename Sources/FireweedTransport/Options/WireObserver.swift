// Messages as they are on the wire, for tools that show or shape them.

/// Receives the heads of every message that a transport sends and receives over HTTP, byte for byte.
///
/// Called on the transport's thread, in the order of the wire; no method may wait. WebSocket handshakes, and the
/// `CONNECT` exchanges for them, are not reported. Without an observer nothing is gathered.
package protocol WireObserver: AnyObject, Sendable {
    /// A head went out, with its empty line: a request's, or that of a proxy's `CONNECT`. HTTP/2 is shown in the form
    /// of HTTP/1.1.
    func didSend(head: [UInt8])
    /// Lines of a head or of trailers came in, with their line ends; before the consumer gets the head.
    func didReceive(headLines: [UInt8])
    /// The engine reports what it does, in a line for people.
    func didNote(_ text: String)
}

/// The spelling and order of header fields on the wire, where the message does not determine them.
///
/// ``FieldBlock``s that come from Foundation's requests have each name once and in no order.
package struct FieldWriting: Sendable {
    /// Names of fields that are not sent, those that the engine adds included: `Accept`, `Accept-Encoding`, `Host`.
    package var omittedNames: [String] = []
    /// Fields with their lines, in the order in which they are sent, after all others, which are sorted by name.
    ///
    /// A row changes no message that lacks the field or has it with another value.
    package var rows: [Row] = []

    /// A field whose value stands on several lines, or whose place or case matters.
    package struct Row: Sendable {
        /// The field as a message has it, its values joined.
        package var field: Field
        /// The lines that are sent.
        package var lines: [Field]

        /// Makes a row.
        package init(field: Field, lines: [Field]) {
            self.field = field
            self.lines = lines
        }
    }

    /// Makes rules that change nothing.
    package init() {}

    /// The fields of a message as they are sent.
    func lines(of fields: [Field]) -> [Field] {
        let omitted = Set(omittedNames.map { $0.lowercased() })
        let others = fields.map { ($0.name.lowercased(), $0) }.filter { !omitted.contains($0.0) }
        var places = Dictionary(grouping: others.indices.reversed()) { others[$0].0 }
        var taken: Set<Int> = []
        var ordered: [Field] = []
        for row in rows {
            let name = row.field.name.lowercased()
            guard let index = places[name]?.lastIndex(where: { others[$0].1.value == row.field.value }),
                let place = places[name]?.remove(at: index)
            else { continue }
            taken.insert(place)
            ordered += row.lines
        }
        // A session's fields have no order; sorting them makes the same command send the same bytes.
        let rest = others.indices.filter { !taken.contains($0) }.map { others[$0] }
        return rest.sorted { $0.0 < $1.0 }.map(\.1) + ordered
    }
}
