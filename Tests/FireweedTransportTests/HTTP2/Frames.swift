// Frames of HTTP/2 as bytes (RFC 9113 §4.1).

enum Frames {
    static let (data, headers, priority, reset, settings, push, ping, goAway, window, continuation):
        (
            UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8
        ) = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
    static let endStream: UInt8 = 1
    static let endHeaders: UInt8 = 4
    static let padded: UInt8 = 8

    static func frame(_ type: UInt8, _ flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        let length = UInt32(payload.count)
        return [UInt8(length >> 16 & 0xFF), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF), type, flags]
            + number(stream) + payload
    }

    /// 32 bits in the order of the network.
    static func number(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }

    /// `:status: 200`, from HPACK's static table (RFC 7541, Appendix A).
    static let ok: [UInt8] = [0x88]

    /// A field without compression (RFC 7541 §6.2.2); both parts have less than 127 bytes.
    static func field(_ name: String, _ value: String) -> [UInt8] {
        [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
    }

    static func head(stream: UInt32 = 1, _ fields: [UInt8] = ok, ends: Bool = false) -> [UInt8] {
        frame(headers, endHeaders | (ends ? endStream : 0), stream: stream, fields)
    }

    static func content(stream: UInt32 = 1, _ text: String, ends: Bool = false) -> [UInt8] {
        frame(data, ends ? endStream : 0, stream: stream, Array(text.utf8))
    }
}
