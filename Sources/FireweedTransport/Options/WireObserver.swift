// The observation and writing of messages as they are on the wire.

/// Receives the heads of every message that a transport sends and receives over HTTP, byte for byte.
///
/// Called on the transport's thread, in the order of the wire; no method may block. WebSocket handshakes, and their
/// `CONNECT` exchanges, are not reported. Without an observer, no heads are collected.
package protocol WireObserver: AnyObject, Sendable {
    /// A head was sent, including its empty line: the head of a request, or of a `CONNECT` to a proxy.
    ///
    /// HTTP/2 heads are shown in the format of HTTP/1.1.
    func didSend(head: [UInt8])
    /// Lines of a head or of trailers were received, with their line ends; called before the consumer gets the head.
    func didReceive(headLines: [UInt8])
    /// The engine reports what it does, as one line of text for people.
    func didNote(_ text: String)
}

/// Rules for how a message's header fields are written on the wire: which are omitted, their order, their spelling and
/// their lines.
///
/// They are needed because ``FieldBlock``s made from Foundation's requests have each name only once, and no defined
/// order.
package struct FieldWriting: Sendable {
    /// Names of fields to leave out, including those that the engine adds: `Accept`, `Accept-Encoding`, `Host`.
    package var omittedNames: [String] = []
    /// Fields whose lines are sent in this order, after all other fields, which are sorted by name.
    ///
    /// A row applies only to a message that has the field with exactly this value.
    package var rows: [Row] = []

    /// A field whose value needs several lines, or whose position or case matters.
    package struct Row: Sendable {
        /// The field as in the message, with its values joined.
        package var field: Field
        /// The lines to send.
        package var lines: [Field]

        /// Makes a row.
        package init(field: Field, lines: [Field]) {
            self.field = field
            self.lines = lines
        }
    }

    /// Makes rules that change nothing.
    package init() {}

    /// Returns the fields of a message as they are to be sent.
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
        // A session's fields have no order; sorting them makes repeated runs of a command send the same bytes.
        let rest = others.indices.filter { !taken.contains($0) }.map { others[$0] }
        return rest.sorted { $0.0 < $1.0 }.map(\.1) + ordered
    }
}
