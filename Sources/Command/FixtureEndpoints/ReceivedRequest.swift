// A request as the server saw it.

package import FireweedTesting
public import Foundation

/// A request as the server of the endpoints received it.
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
    public package(set) var body: Data
    /// The number of bytes of content received.
    public package(set) var bodyByteCount: Int
    /// The CRC-32 of the content.
    public package(set) var bodyChecksum: UInt
    /// For `/parts`: the parts of the form; `nil` without a complete form.
    public package(set) var parts: [FormPart]?

    /// Whether the request has the version HTTP/1.0, in which content may end with the connection.
    package var isHTTP10 = false
    /// The receiver of the content, if the server has chosen one.
    package var receiver: (any ContentReceiver)?

    package init(
        scheme: String, method: String, target: String, fields: [(name: String, value: String)], body: Data,
        bodyByteCount: Int, bodyChecksum: UInt
    ) {
        self.scheme = scheme
        self.method = method
        self.target = target
        path = ReceivedTarget.path(of: target)
        query = ReceivedTarget.query(of: target)
        self.fields = fields
        self.body = body
        self.bodyByteCount = bodyByteCount
        self.bodyChecksum = bodyChecksum
    }

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

    /// The number of the first of these parameters, or of `fallback` without one of them, at the nearest end of `range`
    /// when it is outside; `nil` for text that is no number.
    package func number(_ names: String..., in range: ClosedRange<Double>, default fallback: Double) -> Double? {
        guard let text = names.lazy.compactMap({ parameter($0) }).first else { return fallback }
        guard let number = Double(text), number.isFinite else { return nil }
        return min(max(number, range.lowerBound), range.upperBound)
    }

    /// The cookies of the request.
    public var cookies: [(name: String, value: String)] {
        (field("Cookie") ?? "").split(separator: ";").compactMap { pair in
            let halves = pair.trimmingCharacters(in: .whitespaces).split(separator: "=", maxSplits: 1)
            return halves.first.map { (String($0), halves.count > 1 ? String(halves[1]) : "") }
        }
    }
}

/// One part of a form.
public struct FormPart: Sendable, Equatable {
    /// The name of the field.
    public let name: String
    /// The name of the file, for a file.
    public let fileName: String?
    /// The media type, if the part has one.
    public let type: String?
    /// The number of bytes of the part's content.
    public package(set) var byteCount: Int
    /// The CRC-32 of the part's content.
    public package(set) var checksum: UInt
    /// The first 64 KiB of the part's content.
    public package(set) var head: Data

    package init(name: String, fileName: String?, type: String?, byteCount: Int, checksum: UInt, head: Data) {
        self.name = name
        self.fileName = fileName
        self.type = type
        self.byteCount = byteCount
        self.checksum = checksum
        self.head = head
    }
}
