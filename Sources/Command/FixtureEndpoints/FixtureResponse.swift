// A response of an endpoint.

public import Foundation

/// A response of an endpoint.
public struct FixtureResponse: Sendable {
    /// A piece of content.
    public enum Piece: Sendable {
        /// The next bytes.
        case bytes(Data)
        /// No bytes for this many seconds.
        case wait(Double)
        /// The end.
        case end
    }

    /// The content.
    public enum Body: Sendable {
        /// Bytes.
        case data(Data)
        /// Content from a closure that returns the piece with each number, from 0; in chunks if `byteCount` is `nil`.
        case pieces(byteCount: Int?, @Sendable (_ number: Int) -> Piece)
    }

    /// The status.
    public var status: Int
    /// The fields, without those that the server adds.
    public var fields: [(name: String, value: String)]
    /// The content.
    public var body: Body
    /// Seconds to wait before the head is sent.
    public var delay: Double

    /// Makes a response.
    public init(
        status: Int = 200, fields: [(name: String, value: String)] = [], body: Body = .data(Data()), delay: Double = 0
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.delay = delay
    }

    /// A response of text.
    public static func text(
        _ text: String, status: Int = 200, type: String = "text/plain; charset=utf-8",
        fields: [(name: String, value: String)] = []
    ) -> FixtureResponse {
        FixtureResponse(status: status, fields: [("Content-Type", type)] + fields, body: .data(Data(text.utf8)))
    }

    /// A response of JSON, with sorted keys.
    package static func json(
        _ object: Any, status: Int = 200, fields: [(name: String, value: String)] = []
    ) -> FixtureResponse {
        let options: JSONSerialization.WritingOptions = [
            .prettyPrinted, .sortedKeys, .withoutEscapingSlashes, .fragmentsAllowed,
        ]
        let data = (try? JSONSerialization.data(withJSONObject: object, options: options)) ?? Data("null".utf8)
        return FixtureResponse(
            status: status, fields: [("Content-Type", "application/json")] + fields, body: .data(data))
    }

    /// A response with a status and without content.
    package static func status(_ status: Int) -> FixtureResponse {
        FixtureResponse(status: status)
    }
}
