// A request as the server saw it.

public import Foundation

/// A request as the fixture server received it.
public struct ReceivedRequest: Sendable {
    /// `http`, or `https` over TLS.
    public let scheme: String
    /// The method.
    public let method: String
    /// The target as received, with its query.
    public let target: String
    /// The path, percent-decoded.
    public let path: String
    /// The parameters of the query in their order, decoded.
    public let query: [(name: String, value: String)]
    /// The fields in their order.
    public let fields: [(name: String, value: String)]
    /// The content; empty for `/upload` and `/parts`, whose content is not kept, and with a receiver.
    public internal(set) var body: Data
    /// The number of bytes of content received.
    public internal(set) var bodyByteCount: Int
    /// The CRC-32 of the content.
    public internal(set) var bodyChecksum: UInt
    /// For `/parts`: the parts of the form, as libmicrohttpd's post processor reads it; `nil` without a complete form.
    public internal(set) var parts: [FormPart]?

    /// The receiver of the content, if `FixtureServer.receive(_:)` chose one.
    public internal(set) var receiver: (any ContentReceiver)?

    /// The value of the first field of this name, compared without case.
    public func field(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The values of the fields of this name, compared without case.
    public func values(ofField name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The value of the first parameter of this name.
    public func parameter(_ name: String) -> String? {
        query.first { $0.name == name }?.value
    }

    /// The cookies of the request.
    public var cookies: [(name: String, value: String)] {
        (field("Cookie") ?? "").split(separator: ";").compactMap { pair in
            let halves = pair.trimmingCharacters(in: .whitespaces).split(separator: "=", maxSplits: 1)
            return halves.first.map { (String($0), halves.count > 1 ? String(halves[1]) : "") }
        }
    }
}
