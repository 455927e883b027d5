// A stored head as bytes, for stores on a disk.

import FireweedTransport
package import Foundation

extension StoredHead {
    /// The version of the encoding; heads of another version are not read.
    ///
    /// Version 2: keys and variants cover hosts, routes, trust and credential fields.
    private static let form: UInt8 = 2

    /// The head as bytes: numbers in little-endian order, data of variable length after its length.
    package var encoded: Data {
        var bytes = ByteWriter()
        bytes.append(Self.form)
        bytes.append(identifier)
        bytes.append(UInt16(clamping: response.status))
        bytes.append(requestTime.timeIntervalSince1970.bitPattern)
        bytes.append(responseTime.timeIntervalSince1970.bitPattern)
        bytes.append(originDate.timeIntervalSince1970.bitPattern)
        bytes.append(response.version.utf8)
        bytes.append(variant.names.joined(separator: ",").utf8)
        bytes.append(variant.selection)
        bytes.append(optional: variant.credentials)
        bytes.append(optional: userInfo)
        bytes.append(response.section)
        return bytes.data
    }

    /// Reads a head; `nil` when the bytes are not a head, or when a date is out of range.
    package init?(encoded: UnsafeRawBufferPointer) {
        var bytes = ByteReader(rest: encoded[...])
        guard bytes.number(as: UInt8.self) == Self.form, let identifier = bytes.number(as: UInt64.self),
            let status = bytes.number(as: UInt16.self), let requested = bytes.number(as: UInt64.self),
            let responded = bytes.number(as: UInt64.self), let made = bytes.number(as: UInt64.self),
            let version = bytes.bytes(), let names = bytes.bytes(),
            let selection = bytes.bytes(), let credentials = bytes.optionalBytes(),
            let userInfo = bytes.optionalBytes(), let section = bytes.bytes()
        else { return nil }
        self.init(
            identifier: identifier,
            response: ResponseHead(
                status: Int(status), version: String(decoding: version, as: UTF8.self), section: Array(section)),
            requestTime: Date(timeIntervalSince1970: Double(bitPattern: requested)),
            responseTime: Date(timeIntervalSince1970: Double(bitPattern: responded)),
            originDate: Date(timeIntervalSince1970: Double(bitPattern: made)),
            variant: ResponseVariant(
                names: names.split(separator: 0x2C).map { String(decoding: $0, as: UTF8.self) },
                selection: Data(selection), credentials: credentials.map { Data($0) }),
            userInfo: userInfo.map { Data($0) })
        guard hasSoundDates else { return nil }
    }

    /// True when all dates are within the years 0 to 9999, the range of a `Date` field (RFC 9110 §5.6.7).
    ///
    /// A flipped bit on a disk can turn a date into infinity.
    var hasSoundDates: Bool {
        [requestTime, responseTime, originDate].allSatisfy { date in
            (-62_167_219_200...253_402_300_800).contains(date.timeIntervalSince1970)
        }
    }
}

/// Writes numbers and byte strings one after the other.
private struct ByteWriter {
    private(set) var data = Data()

    mutating func append<Number: FixedWidthInteger>(_ number: Number) {
        withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
    }

    mutating func append(_ bytes: some Collection<UInt8>) {
        append(UInt32(clamping: bytes.count))
        data.append(contentsOf: bytes)
    }

    /// Writes one byte that says whether there are bytes, then the bytes.
    mutating func append(optional bytes: Data?) {
        append(UInt8(bytes == nil ? 0 : 1))
        if let bytes { append(bytes) }
    }
}

/// Reads the output of `ByteWriter`; never beyond the end.
private struct ByteReader {
    var rest: Slice<UnsafeRawBufferPointer>

    mutating func number<Number: FixedWidthInteger>(as type: Number.Type) -> Number? {
        guard let bytes = take(MemoryLayout<Number>.size) else { return nil }
        return bytes.reversed().reduce(0) { ($0 << 8) | Number($1) }
    }

    mutating func bytes() -> Slice<UnsafeRawBufferPointer>? {
        number(as: UInt32.self).flatMap { take(Int($0)) }
    }

    /// Reads what `append(optional:)` wrote; the outer `nil` is a failure, and the inner `nil` means that there are no
    /// bytes.
    mutating func optionalBytes() -> Slice<UnsafeRawBufferPointer>?? {
        switch number(as: UInt8.self) {
        case 0: .some(nil)
        case 1: bytes().map { .some($0) }
        default: nil
        }
    }

    private mutating func take(_ count: Int) -> Slice<UnsafeRawBufferPointer>? {
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
