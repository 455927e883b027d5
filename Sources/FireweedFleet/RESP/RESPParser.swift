// An incremental parser of RESP2 and RESP3.

import Foundation

/// Why bytes are not the Redis serialisation protocol, or exceed the limits.
package struct RESPSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

/// Parses values from bytes, which may be split anywhere.
///
/// Memory grows with the received bytes, never with an announced length. After an error the bytes have no meaning any
/// more: every later call throws the same error.
package struct RESPParser {
    /// The limits of one reply; a reply that exceeds a limit is an error.
    package struct Limits: Sendable {
        /// How deep arrays may be nested.
        package var depth = 16
        /// How many values a reply may have, including nested values.
        package var valueCount = 100_000
        /// How many bytes a reply may have.
        package var byteCount = 64 * 1024 * 1024
        /// How many bytes a line may have: a status, an error, a number or a length.
        package var lineByteCount = 64 * 1024
        /// How many bytes pushes may have together between two replies; our commands cause no pushes.
        package var pushByteCount = 64 * 1024

        package init() {}
    }

    /// A value that contains other values, some of which have not arrived yet.
    private struct Frame {
        enum Kind {
            case array, set, map, push
            /// RESP3's attributes, which belong to the next value; they are dropped.
            case attributes
        }

        let kind: Kind
        var missing: Int
        var values: [RESPValue] = []
    }

    private enum Bulk { case string, error, verbatim }

    private let limits: Limits
    private var buffer: [UInt8] = []
    /// How many bytes of the buffer have been read.
    private var position = 0
    /// Where the search for the end of a line continues.
    private var searched = 0
    private var frames: [Frame] = []
    private var pendingBulk: (kind: Bulk, count: Int)?
    private var valuesLeft: Int
    private var bytesLeft: Int
    private var pushBytesLeft: Int
    private var failure: RESPSyntaxError?

    package init(limits: Limits = Limits()) {
        self.limits = limits
        valuesLeft = limits.valueCount
        bytesLeft = limits.byteCount
        pushBytesLeft = limits.pushByteCount
    }

    /// Adds received bytes.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard failure == nil else { return }
        if position == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.count <= 64 * 1024)
            (position, searched) = (0, 0)
        } else if position > 64 * 1024 {
            buffer.removeSubrange(..<position)
            searched -= position
            position = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// Returns the next value, or `nil` when more bytes are needed.
    package mutating func next() throws(RESPSyntaxError) -> RESPValue? {
        if let failure { throw failure }
        do {
            return try read()
        } catch {
            failure = error
            buffer = []
            (frames, position, searched) = ([], 0, 0)
            throw error
        }
    }

    private mutating func read() throws(RESPSyntaxError) -> RESPValue? {
        while true {
            if pendingBulk != nil {
                guard let value = try takeBulk() else { return nil }
                if let whole = complete(value) { return whole }
                continue
            }
            guard let line = try takeLine() else { return nil }
            guard let value = try begin(line) else { continue }
            if let whole = complete(value) { return whole }
        }
    }

    // MARK: Bytes

    /// Takes the next line, without its CRLF; `nil` when more bytes are needed.
    private mutating func takeLine() throws(RESPSyntaxError) -> ArraySlice<UInt8>? {
        var index = max(searched, position)
        while index < buffer.count, buffer[index] != 0x0D { index += 1 }
        searched = index
        guard index - position <= limits.lineByteCount else { throw RESPSyntaxError("a line is too long") }
        guard index + 1 < buffer.count else { return nil }
        guard buffer[index + 1] == 0x0A else { throw RESPSyntaxError("a carriage return inside of a line") }
        let line = buffer[position..<index]
        try spend(line.count + 2)
        position = index + 2
        searched = position
        return line
    }

    private mutating func takeBulk() throws(RESPSyntaxError) -> RESPValue? {
        guard let (kind, count) = pendingBulk, buffer.count - position >= count + 2 else { return nil }
        let end = position + count
        guard buffer[end] == 0x0D, buffer[end + 1] == 0x0A else {
            throw RESPSyntaxError("a string is longer than its length says")
        }
        let bytes = buffer[position..<end]
        pendingBulk = nil
        position = end + 2
        searched = position
        switch kind {
        case .string: return .bulk(Array(bytes))
        case .error: return .error(RESPError(String(decoding: bytes, as: UTF8.self)))
        case .verbatim:
            // A verbatim string begins with three letters for the format, and a colon.
            guard bytes.count >= 4, bytes[bytes.startIndex + 3] == UInt8(ascii: ":") else {
                throw RESPSyntaxError("a verbatim string without a format")
            }
            return .bulk(Array(bytes.dropFirst(4)))
        }
    }

    private mutating func spend(_ count: Int) throws(RESPSyntaxError) {
        bytesLeft -= count
        guard bytesLeft >= 0 else { throw RESPSyntaxError("a reply has more than \(limits.byteCount) bytes") }
        if case .push = frames.first?.kind { try spendOnPushes(count) }
    }

    private mutating func spendOnPushes(_ count: Int) throws(RESPSyntaxError) {
        pushBytesLeft -= count
        guard pushBytesLeft >= 0 else {
            throw RESPSyntaxError("more than \(limits.pushByteCount) bytes that nothing asked for")
        }
    }

    // MARK: Values

    /// Reads the line that begins a value; `nil` when the rest of the value is still to come.
    private mutating func begin(_ line: ArraySlice<UInt8>) throws(RESPSyntaxError) -> RESPValue? {
        guard let mark = line.first else { throw RESPSyntaxError("an empty line") }
        valuesLeft -= 1
        guard valuesLeft >= 0 else { throw RESPSyntaxError("a reply has more than \(limits.valueCount) values") }
        let rest = line.dropFirst()
        switch mark {
        case UInt8(ascii: "+"): return .simple(String(decoding: rest, as: UTF8.self))
        case UInt8(ascii: "-"): return .error(RESPError(String(decoding: rest, as: UTF8.self)))
        case UInt8(ascii: ":"): return .integer(try integer(rest))
        case UInt8(ascii: "_"):
            guard rest.isEmpty else { throw RESPSyntaxError("a null with a value") }
            return .null
        case UInt8(ascii: "#"): return .boolean(try boolean(rest))
        case UInt8(ascii: ","): return .double(try double(rest))
        case UInt8(ascii: "("): return .bigNumber(try bigNumber(rest))
        case UInt8(ascii: "$"): return try beginBulk(.string, rest)
        case UInt8(ascii: "!"): return try beginBulk(.error, rest)
        case UInt8(ascii: "="): return try beginBulk(.verbatim, rest)
        case UInt8(ascii: "*"): return try beginFrame(.array, rest)
        case UInt8(ascii: "~"): return try beginFrame(.set, rest)
        case UInt8(ascii: "%"): return try beginFrame(.map, rest)
        case UInt8(ascii: "|"): return try beginFrame(.attributes, rest)
        case UInt8(ascii: ">"):
            guard frames.isEmpty else { throw RESPSyntaxError("a push inside of a value") }
            try spendOnPushes(line.count + 2)
            return try beginFrame(.push, rest)
        default: throw RESPSyntaxError("a value of the unknown type \(mark)")
        }
    }

    private mutating func beginBulk(_ kind: Bulk, _ text: ArraySlice<UInt8>) throws(RESPSyntaxError) -> RESPValue? {
        let count = try integer(text)
        if count == -1, kind == .string { return .null }
        guard count >= 0 else { throw RESPSyntaxError("a length of \(count)") }
        guard count <= bytesLeft else { throw RESPSyntaxError("a reply has more than \(limits.byteCount) bytes") }
        try spend(Int(count) + 2)
        pendingBulk = (kind, Int(count))
        return nil
    }

    private mutating func beginFrame(
        _ kind: Frame.Kind, _ text: ArraySlice<UInt8>
    ) throws(RESPSyntaxError) -> RESPValue? {
        let count = try integer(text)
        if count == -1, kind == .array { return .null }
        guard count >= 0 else { throw RESPSyntaxError("a length of \(count)") }
        let isPaired = kind == .map || kind == .attributes
        guard count <= valuesLeft / (isPaired ? 2 : 1) else {
            throw RESPSyntaxError("a reply has more than \(limits.valueCount) values")
        }
        guard frames.count < limits.depth else { throw RESPSyntaxError("values are nested too deep") }
        let frame = Frame(kind: kind, missing: Int(count) * (isPaired ? 2 : 1))
        guard frame.missing == 0 else {
            frames.append(frame)
            return nil
        }
        return kind == .attributes ? nil : Self.value(of: frame)
    }

    /// Adds a value to the innermost open frame; returns the outermost value once no frame is open.
    private mutating func complete(_ value: RESPValue) -> RESPValue? {
        var value = value
        while let index = frames.indices.last {
            frames[index].values.append(value)
            frames[index].missing -= 1
            guard frames[index].missing == 0 else { return nil }
            let frame = frames.removeLast()
            if frame.kind == .attributes { return nil }
            value = Self.value(of: frame)
        }
        (valuesLeft, bytesLeft) = (limits.valueCount, limits.byteCount)
        if case .push = value { return value }
        pushBytesLeft = limits.pushByteCount
        return value
    }

    private static func value(of frame: Frame) -> RESPValue {
        switch frame.kind {
        case .array: .array(frame.values)
        case .set: .set(frame.values)
        case .push: .push(frame.values)
        case .map, .attributes:
            .map(
                stride(from: 0, to: frame.values.count - 1, by: 2).map {
                    RESPPair(key: frame.values[$0], value: frame.values[$0 + 1])
                })
        }
    }

    // MARK: Numbers

    private func integer(_ text: ArraySlice<UInt8>) throws(RESPSyntaxError) -> Int64 {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative || text.first == UInt8(ascii: "+") ? text.dropFirst() : text
        guard !digits.isEmpty else { throw RESPSyntaxError("an empty number") }
        var value: Int64 = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { throw RESPSyntaxError("a number with other characters") }
            let (tenfold, isTooLarge) = value.multipliedReportingOverflow(by: 10)
            let number = Int64(digit - 0x30)
            let (sum, isOver) = tenfold.addingReportingOverflow(isNegative ? -number : number)
            guard !isTooLarge, !isOver else { throw RESPSyntaxError("a number of more than 64 bits") }
            value = sum
        }
        return value
    }

    private func boolean(_ text: ArraySlice<UInt8>) throws(RESPSyntaxError) -> Bool {
        switch text {
        case [UInt8(ascii: "t")]: return true
        case [UInt8(ascii: "f")]: return false
        default: throw RESPSyntaxError("a boolean that is neither true nor false")
        }
    }

    private func double(_ text: ArraySlice<UInt8>) throws(RESPSyntaxError) -> Double {
        let text = String(decoding: text, as: UTF8.self)
        switch text {
        case "inf", "+inf": return .infinity
        case "-inf": return -.infinity
        case "nan", "-nan": return .nan
        default:
            // `Double` would also accept hexadecimal digits and words.
            let characters = Set("+-.eE0123456789".utf8)
            guard text.utf8.allSatisfy(characters.contains), let value = Double(text) else {
                throw RESPSyntaxError("a fraction that is no number")
            }
            return value
        }
    }

    private func bigNumber(_ text: ArraySlice<UInt8>) throws(RESPSyntaxError) -> String {
        let digits = text.first == UInt8(ascii: "-") || text.first == UInt8(ascii: "+") ? text.dropFirst() : text
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw RESPSyntaxError("a number with other characters")
        }
        return String(decoding: text, as: UTF8.self)
    }
}
