// The position of a request in a distributed trace.

import Foundation

/// The position of a request in a distributed trace (W3C Trace Context).
///
/// ```swift
/// let incoming = TraceContext(traceparent: field, tracestate: state)
/// await TraceContext.$current.withValue(incoming) {
///     _ = await session.request(url).serializingData().response  // continues the incoming trace
/// }
/// ```
public struct TraceContext: Sendable, Hashable {
    /// The trace: 32 hexadecimal digits in lower case, not all of them zero.
    public let traceID: String
    /// The span: 16 hexadecimal digits in lower case, not all of them zero.
    public let spanID: String
    /// The flags; bit 0 says that the caller may have recorded the trace.
    public var flags: UInt8
    /// The value of `tracestate`, with the entries of other tracing systems; sent unchanged.
    public var state: String?

    /// The context of the current task; `nil` outside a trace.
    @TaskLocal public static var current: TraceContext?

    /// Begins a trace with random identifiers.
    ///
    /// - Parameter isSampled: whether the trace is recorded; true by default.
    public init(isSampled: Bool = true) {
        traceID = Self.hexadecimal(UInt64.random(in: 1 ... .max)) + Self.hexadecimal(UInt64.random(in: 0 ... .max))
        spanID = Self.hexadecimal(UInt64.random(in: 1 ... .max))
        flags = isSampled ? 1 : 0
    }

    private init(traceID: String, spanID: String, flags: UInt8, state: String?) {
        self.traceID = traceID
        self.spanID = spanID
        self.flags = flags
        self.state = state
    }

    /// Parses a `traceparent` field; `nil` for an invalid value, for which W3C Trace Context begins a new trace.
    ///
    /// Of a version above 00, only the first four parts are read.
    ///
    /// - Parameters:
    ///   - traceparent: the field value.
    ///   - tracestate: the value of the `tracestate` field; `nil`, the default, for none. An invalid
    ///     value is dropped, and the trace continues without it.
    public init?(traceparent: String, tracestate: String? = nil) {
        let parts = traceparent.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, Self.isHexadecimal(parts[0], 2), parts[0] != "ff", Self.isHexadecimal(parts[1], 32),
            Self.isHexadecimal(parts[2], 16), Self.isHexadecimal(parts[3], 2), let flags = UInt8(parts[3], radix: 16),
            parts[0] != "00" || parts.count == 4, parts[1].contains(where: { $0 != "0" }),
            parts[2].contains(where: { $0 != "0" })
        else { return nil }
        self.init(
            traceID: String(parts[1]), spanID: String(parts[2]), flags: flags,
            state: tracestate.flatMap(Self.passable))
    }

    /// The field's value, in version 00.
    public var traceparent: String {
        "00-\(traceID)-\(spanID)-\(String(format: "%02x", flags & 1))"
    }

    /// A new span in the same trace.
    public func child() -> TraceContext {
        TraceContext(
            traceID: traceID, spanID: Self.hexadecimal(UInt64.random(in: 1 ... .max)), flags: flags & 1, state: state)
    }

    /// Returns the value if it is not empty and has at most 32 members and 512 printable characters; else `nil`.
    private static func passable(_ state: String) -> String? {
        let text = state.trimmingCharacters(in: .whitespaces)
        let isFit =
            !text.isEmpty && text.utf8.count <= 512 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 9 }
        return isFit && text.split(separator: ",").count <= 32 ? text : nil
    }

    private static func isHexadecimal(_ text: Substring, _ count: Int) -> Bool {
        text.utf8.count == count && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
